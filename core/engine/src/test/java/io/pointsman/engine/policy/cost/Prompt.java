package io.pointsman.engine.policy.cost;

import io.pointsman.engine.prefix.PrefixBlocks;

/** Prompts of blocks of 16 tokens. */
public final class Prompt {
  private Prompt() {}

  /** A prompt of {@code blocks} blocks that shares nothing with other numbers. */
  public static PrefixBlocks of(long n, int blocks) {
    return of(n, blocks, n, 0);
  }

  /** {@code shared} blocks of prompt {@code n}, then {@code own} blocks of {@code branch}. */
  public static PrefixBlocks of(long n, int shared, long branch, int own) {
    return salted(7, n, shared, branch, own);
  }

  /** Prompt {@code n} under the given salt. */
  public static PrefixBlocks salted(long salt, long n, int blocks) {
    return salted(salt, n, blocks, n, 0);
  }

  private static PrefixBlocks salted(long salt, long n, int shared, long branch, int own) {
    long[] pieces = new long[shared + own];
    for (int i = 0; i < pieces.length; i++) {
      pieces[i] = PrefixBlocks.mix((i < shared ? n : branch) * 100_003 + i);
    }
    int length = pieces.length * 16;
    return PrefixBlocks.chain(salt, pieces, pieces.length, length, 16, length);
  }

  /** The same prompt as text with an estimated length. */
  public static PrefixBlocks text(long n, int blocks) {
    PrefixBlocks ids = of(n, blocks);
    int bytes = blocks * 64;
    return new PrefixBlocks(ids.hashes(), blocks, bytes, 64, bytes / 4).asText();
  }
}
