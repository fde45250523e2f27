package io.pointsman.request.coding;

import java.io.IOException;
import java.io.InputStream;

/** Decodes bodies within a limit. Thread-safe. */
public final class Decoding {
  /** Size in bytes of a decoded part. */
  private static final int PART = 16_384;

  private Decoding() {}

  /** Result of a decoding. */
  public enum Result {
    COMPLETE,
    /** More bytes than the limit permits. */
    TOO_LARGE,
    /** The receiver refused a part. */
    REFUSED,
    /** The bytes do not have the coding, or end early. */
    MALFORMED
  }

  /** Receiver of the decoded bytes. */
  public interface Sink {
    /**
     * Takes the next bytes, which it must copy.
     *
     * @return false to end the decoding
     */
    boolean take(byte[] bytes, int length);
  }

  /**
   * Decodes the {@code length} bytes from {@code offset} on.
   *
   * @param most maximum number of decoded bytes
   * @param sink receives the decoded bytes up to the limit, or up to a malformed part
   */
  public static Result decode(
      ContentCoding coding, byte[] bytes, int offset, int length, long most, Sink sink) {
    byte[] part = new byte[PART];
    long total = 0;
    try (InputStream in = coding.open(bytes, offset, length)) {
      for (int read = in.read(part); read > 0; read = in.read(part)) {
        total += read;
        if (total > most) {
          return Result.TOO_LARGE;
        }
        if (!sink.take(part, read)) {
          return Result.REFUSED;
        }
      }
      return Result.COMPLETE;
    } catch (IOException | RuntimeException e) { // decoders throw both on malformed bytes
      return Result.MALFORMED;
    }
  }
}
