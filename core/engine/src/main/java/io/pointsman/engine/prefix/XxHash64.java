package io.pointsman.engine.prefix;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** xxHash64 (Collet, 2012) with seed 0. */
final class XxHash64 {
  private static final long P1 = 0x9E3779B185EBCA87L;
  private static final long P2 = 0xC2B2AE3D27D4EB4FL;
  private static final long P3 = 0x165667B19E3779F9L;
  private static final long P4 = 0x85EBCA77C2B2AE63L;
  private static final long P5 = 0x27D4EB2F165667C5L;
  private static final long P1_PLUS_P2 = 0x60EA27EEADC0B5D6L;
  private static final int STRIPE = 32;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INTS =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private XxHash64() {}

  /** Returns the hash of the first {@code length} bytes. */
  static long hash(byte[] bytes, int length) {
    int stripes = length & -STRIPE;
    long hash = stripes == 0 ? P5 : ofStripes(bytes, stripes);
    hash += length;
    int at = stripes;
    for (; at + Long.BYTES <= length; at += Long.BYTES) {
      hash = Long.rotateLeft(hash ^ round(0, (long) LONGS.get(bytes, at)), 27) * P1 + P4;
    }
    if (at + Integer.BYTES <= length) {
      long word = (int) INTS.get(bytes, at) & 0xFFFF_FFFFL;
      hash = Long.rotateLeft(hash ^ (word * P1), 23) * P2 + P3;
      at += Integer.BYTES;
    }
    for (; at < length; at++) {
      hash = Long.rotateLeft(hash ^ ((bytes[at] & 0xFF) * P5), 11) * P1;
    }
    hash = (hash ^ (hash >>> 33)) * P2;
    hash = (hash ^ (hash >>> 29)) * P3;
    return hash ^ (hash >>> 32);
  }

  private static long ofStripes(byte[] bytes, int end) {
    long a = P1_PLUS_P2;
    long b = P2;
    long c = 0;
    long d = -P1;
    for (int at = 0; at < end; at += STRIPE) {
      a = round(a, (long) LONGS.get(bytes, at));
      b = round(b, (long) LONGS.get(bytes, at + 8));
      c = round(c, (long) LONGS.get(bytes, at + 16));
      d = round(d, (long) LONGS.get(bytes, at + 24));
    }
    long hash =
        Long.rotateLeft(a, 1)
            + Long.rotateLeft(b, 7)
            + Long.rotateLeft(c, 12)
            + Long.rotateLeft(d, 18);
    return merge(merge(merge(merge(hash, a), b), c), d);
  }

  private static long round(long lane, long word) {
    return Long.rotateLeft(lane + word * P2, 31) * P1;
  }

  private static long merge(long hash, long lane) {
    return (hash ^ round(0, lane)) * P1 + P4;
  }
}
