package io.pointsman.engine.prefix;

/** Routing keys for tests: prompts as strings, one block per character. */
public final class Prompts {
  private Prompts() {}

  /** A prompt with one block of 16 tokens for each character. */
  public static PrefixBlocks prompt(String text) {
    return prompt(0, text);
  }

  /** A prompt for another model or adapter, which {@code salt} identifies. */
  public static PrefixBlocks prompt(long salt, String text) {
    long[] pieces = text.chars().mapToLong(c -> PrefixBlocks.mix(c)).toArray();
    int count = pieces.length;
    return PrefixBlocks.chain(salt, pieces, count, count * 16, 16, count * 16);
  }

  /** A prompt of {@code blocks} blocks; its first {@code shared} are equal in the whole family. */
  public static PrefixBlocks prompt(long family, int shared, long member, int blocks) {
    long[] pieces = new long[blocks];
    for (int i = 0; i < blocks; i++) {
      pieces[i] = PrefixBlocks.mix((i < shared ? family : member << 32 | family) + 1);
    }
    return PrefixBlocks.chain(0, pieces, blocks, blocks * 16, 16, blocks * 16);
  }
}
