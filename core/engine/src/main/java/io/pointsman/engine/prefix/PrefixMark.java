package io.pointsman.engine.prefix;

/**
 * A position in routing keys: a prompt that contains it begins with the marked content.
 *
 * @param hash chained hash of everything up to the position
 * @param blocks number of blocks up to the position; at least 1
 */
public record PrefixMark(long hash, int blocks) {
  public PrefixMark {
    if (blocks < 1) {
      throw new IllegalArgumentException("blocks: " + blocks + " (expected: >= 1)");
    }
  }

  /** Returns true if {@code key} contains this position and continues after it. */
  public boolean isPassedBy(PrefixBlocks key) {
    return key.count() > blocks && key.hashes()[blocks - 1] == hash;
  }
}
