package io.pointsman.request.json;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * 64-bit hashes of bytes, in blocks of 64 bytes. A block is folded by 64x64 to 128-bit
 * multiplications of its keyed words, as in wyhash (Wang Yi 2019). The products of a block are
 * independent and keep the multiplier busy. The hash does not resist attacks: the keys are
 * constants. A client that forces a collision only gets a worse worker for its own request.
 */
public final class BlockHash {
  /** Size of a full block in bytes. */
  public static final int BLOCK = 64;

  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long K0 = 0xA0761D6478BD642FL;
  private static final long K1 = 0xE7037ED1A0B428DBL;
  private static final long K2 = 0x8EBC6AF09C88C6E3L;
  private static final long K3 = 0x589965CC75374CC3L;
  private static final long K4 = 0x1D8E4E27C47D124FL;
  private static final long K5 = 0xEB44ACCAB455D165L;
  private static final long K6 = 0x9C6E6877736C46E3L;
  private static final long K7 = 0x2F72B4215A3D8CAFL;

  private BlockHash() {}

  /** Eight bytes as a little-endian word. All eight must be inside the array. */
  static long word(byte[] bytes, int at) {
    return (long) WORDS.get(bytes, at);
  }

  /** Hash of a full block, passed as eight words. */
  static long block(long w0, long w1, long w2, long w3, long w4, long w5, long w6, long w7) {
    return (product(w0 ^ K0, w1 ^ K1) ^ product(w2 ^ K2, w3 ^ K3))
        + (product(w4 ^ K4, w5 ^ K5) ^ product(w6 ^ K6, w7 ^ K7));
  }

  /** Hash of the full block that starts at {@code at}. */
  static long block(byte[] bytes, int at) {
    return block(
        word(bytes, at),
        word(bytes, at + 8),
        word(bytes, at + 16),
        word(bytes, at + 24),
        word(bytes, at + 32),
        word(bytes, at + 40),
        word(bytes, at + 48),
        word(bytes, at + 56));
  }

  /** Hash of a block of 1 to 63 bytes. */
  static long tail(byte[] bytes, int at, int length) {
    long hash = 0;
    int end = at + length;
    for (int i = at; i < end; i += 16) {
      long first = partialWord(bytes, i, end);
      long second = i + 8 < end ? partialWord(bytes, i + 8, end) : 0;
      hash = (hash ^ product(first ^ K0, second ^ K1)) * K3;
    }
    return hash + length * K7;
  }

  private static long partialWord(byte[] bytes, int at, int end) {
    int left = end - at;
    if (at + 8 <= bytes.length) {
      long word = word(bytes, at);
      return left >= 8 ? word : word & ((1L << (8 * left)) - 1);
    }
    long word = 0;
    for (int i = Math.min(left, 8) - 1; i >= 0; i--) {
      word = word << 8 | (bytes[at + i] & 0xFF);
    }
    return word;
  }

  /** Combines a hash with one more value. The order matters. */
  public static long fold(long hash, long value) {
    return (Long.rotateLeft(hash, 23) ^ value) * K2;
  }

  /**
   * Hash of the bytes from {@code from} to before {@code to}: their blocks, folded in order. 0 if
   * there are none.
   */
  public static long of(byte[] bytes, int from, int to) {
    long hash = 0;
    int at = from;
    for (; at + BLOCK <= to; at += BLOCK) {
      hash = fold(hash, block(bytes, at));
    }
    return at < to ? fold(hash, tail(bytes, at, to - at)) : hash;
  }

  /** Equal to {@link #of}, for fewer than 64 bytes. */
  static long ofShort(byte[] bytes, int from, int to) {
    return from == to ? 0 : tail(bytes, from, to - from) * K2;
  }

  /**
   * Contribution of a member to the hash of its object. Contributions are summed; the order does
   * not matter.
   */
  public static long member(long key, long value) {
    return PrefixBlocks.mix(key * K4 + Long.rotateLeft(value, 32));
  }

  private static long product(long a, long b) {
    return (a * b) ^ Math.unsignedMultiplyHigh(a, b);
  }
}
