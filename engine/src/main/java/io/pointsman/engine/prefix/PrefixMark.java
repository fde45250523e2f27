package io.pointsman.engine.prefix;

/**
 * A place in routing keys: where a prompt's key must pass to begin with what another one is.
 *
 * @param hash chained hash of everything up to there
 * @param blocks number of blocks up to there; at least 1
 */
public record PrefixMark(long hash, int blocks) {
  public PrefixMark {
    if (blocks < 1) {
      throw new IllegalArgumentException("blocks: " + blocks + " (expected: >= 1)");
    }
  }

  /** Whether {@code key} passes here and goes on behind it. */
  public boolean isPassedBy(PrefixBlocks key) {
    return key.count() > blocks && key.hashes()[blocks - 1] == hash;
  }
}
