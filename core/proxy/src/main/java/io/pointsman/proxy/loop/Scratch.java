package io.pointsman.proxy.loop;

import java.lang.ref.WeakReference;

/**
 * Memory that the requests of one event loop use in turn. With an array for each large body,
 * garbage would fill a heap of some hundred MiB. Not thread-safe.
 */
final class Scratch {
  /** Maximum size in bytes of the array that is always kept. */
  static final int KEPT = 1 << 20;

  private static final int INITIAL = 8192;

  private byte[] small = new byte[INITIAL];

  /** Kept until a garbage collection. */
  private WeakReference<byte[]> large = new WeakReference<>(null);

  /** An array of at least {@code length} bytes, valid until the next call. */
  byte[] atLeast(int length) {
    if (length > KEPT) {
      return large(length);
    }
    if (length > small.length) {
      small = new byte[Math.max(length, Math.min(small.length * 2, KEPT))];
    }
    return small;
  }

  private byte[] large(int length) {
    byte[] bytes = large.get();
    if (bytes == null || bytes.length < length) {
      bytes = new byte[length];
      large = new WeakReference<>(bytes);
    }
    return bytes;
  }
}
