package io.pointsman.engine.prefix;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The chunks by which vLLM's production-stack compares prompts ({@code prefixaware}), bit for bit.
 * For tools and policies that read or build such tries. No built-in policy uses them: that router
 * does not export its hashes, and its decisions depend only on its own history.
 */
public final class StackChunks {
  /** Characters (code points) of a chunk. */
  public static final int LENGTH = 128;

  private StackChunks() {}

  /**
   * Returns the xxHash64, seed 0, of each chunk of a text in UTF-8, in order; the last chunk may be
   * short. Chunks are hashed independently, not chained.
   *
   * @return one hash for each 128 characters or part of them; none for an empty text
   */
  public static long[] hashes(String text) {
    int characters = text.codePointCount(0, text.length());
    long[] hashes = new long[(characters + LENGTH - 1) / LENGTH];
    int from = 0;
    for (int i = 0; i < hashes.length; i++) {
      int left = Math.min(LENGTH, characters - i * LENGTH);
      int to = text.offsetByCodePoints(from, left);
      byte[] bytes = text.substring(from, to).getBytes(UTF_8);
      hashes[i] = XxHash64.hash(bytes, bytes.length);
      from = to;
    }
    return hashes;
  }
}
