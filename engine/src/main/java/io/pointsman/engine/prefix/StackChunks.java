package io.pointsman.engine.prefix;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The chunks by which vLLM's production-stack compares prompts ({@code prefixaware}), bit for bit,
 * for tools and policies that read or build such tries. No policy of ours uses them: that router
 * keeps its hashes to itself, and they do not decide where a prompt goes, only its own history
 * does.
 */
public final class StackChunks {
  /** Characters of a chunk; a character is a code point. */
  public static final int LENGTH = 128;

  private StackChunks() {}

  /**
   * The xxHash64, seed 0, of each chunk of a text in UTF-8, in their order; the last chunk may be
   * short. Chunks are hashed one by one, not chained.
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
