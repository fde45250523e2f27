package io.pointsman.engine.policy.hash;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The first 64 bits of MurmurHash3 x64-128 (Appleby, 2011) of a text in UTF-8. Allocates nothing
 * for ASCII texts.
 */
final class Murmur3 {
  private static final long C1 = 0x87C37B91114253D5L;
  private static final long C2 = 0x4CF5AD432745937FL;
  private static final int BLOCK = 16;

  private Murmur3() {}

  /**
   * @param seed the start value of both lanes, used as an unsigned 32-bit number
   */
  static long hash(String text, int seed) {
    byte @Nullable [] bytes = ascii(text) ? null : text.getBytes(StandardCharsets.UTF_8);
    int length = bytes == null ? text.length() : bytes.length;
    long h1 = seed & 0xFFFF_FFFFL;
    long h2 = h1;
    int tail = length & -BLOCK;
    for (int at = 0; at < tail; at += BLOCK) {
      h1 ^= first(word(text, bytes, at, at + 8));
      h1 = (Long.rotateLeft(h1, 27) + h2) * 5 + 0x52DCE729L;
      h2 ^= second(word(text, bytes, at + 8, at + BLOCK));
      h2 = (Long.rotateLeft(h2, 31) + h1) * 5 + 0x38495AB5L;
    }
    if (length > tail + 8) {
      h2 ^= second(word(text, bytes, tail + 8, length));
    }
    if (length > tail) {
      h1 ^= first(word(text, bytes, tail, Math.min(length, tail + 8)));
    }
    h1 ^= length;
    h2 ^= length;
    h1 += h2;
    h2 += h1;
    return finish(h1) + finish(h2);
  }

  private static boolean ascii(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) >= 0x80) {
        return false;
      }
    }
    return true;
  }

  /** Returns up to eight bytes, the first one lowest. */
  private static long word(String text, byte @Nullable [] bytes, int from, int to) {
    long word = 0;
    for (int i = to - 1; i >= from; i--) {
      word = word << 8 | (bytes == null ? text.charAt(i) : bytes[i] & 0xFF);
    }
    return word;
  }

  private static long first(long word) {
    return Long.rotateLeft(word * C1, 31) * C2;
  }

  private static long second(long word) {
    return Long.rotateLeft(word * C2, 33) * C1;
  }

  private static long finish(long lane) {
    long h = lane;
    h = (h ^ (h >>> 33)) * 0xFF51AFD7ED558CCDL;
    h = (h ^ (h >>> 33)) * 0xC4CEB9FE1A85EC53L;
    return h ^ (h >>> 33);
  }
}
