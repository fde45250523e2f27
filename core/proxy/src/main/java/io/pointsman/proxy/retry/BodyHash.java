package io.pointsman.proxy.retry;

import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** Hash of bytes in 64 bits: CRC-32 and CRC-32C, for which processors have instructions. */
public final class BodyHash {
  private BodyHash() {}

  /** Returns the hash of the first {@code length} bytes. */
  public static long of(byte[] bytes, int length) {
    CRC32 low = new CRC32();
    low.update(bytes, 0, length);
    CRC32C high = new CRC32C();
    high.update(bytes, 0, length);
    return high.getValue() << 32 | low.getValue();
  }
}
