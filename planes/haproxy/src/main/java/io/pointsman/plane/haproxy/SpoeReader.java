package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.ProtocolException;
import org.jspecify.annotations.Nullable;

/**
 * Reads the values in an SPOE frame: numbers of variable length, texts, and typed values. Confined
 * to one thread.
 *
 * @see <a href="https://github.com/haproxy/haproxy/blob/v2.6.0/doc/SPOE.txt">SPOE.txt, section
 *     3</a>
 */
final class SpoeReader {
  private static final int LARGEST_ONE_BYTE = 240;
  private static final int TRUE = 0x10;

  private final byte[] bytes;
  private final int end;
  private int at;

  /**
   * @param from offset of the first byte
   * @param end offset after the last byte
   */
  SpoeReader(byte[] bytes, int from, int end) {
    this.bytes = bytes;
    this.at = from;
    this.end = end;
  }

  boolean hasMore() {
    return at < end;
  }

  int octet() throws ProtocolException {
    if (at >= end) {
      throw new ProtocolException("frame: ends within a value");
    }
    return bytes[at++] & 0xff;
  }

  /** Four bytes, big-endian. */
  int word() throws ProtocolException {
    return (octet() << 24) | (octet() << 16) | (octet() << 8) | octet();
  }

  /** A number of 1 to 10 bytes. */
  long number() throws ProtocolException {
    long value = octet();
    if (value < LARGEST_ONE_BYTE) {
      return value;
    }
    int shift = 4;
    int next;
    do {
      if (shift > 60) {
        throw new ProtocolException("number: too long");
      }
      next = octet();
      value += (long) next << shift;
      shift += 7;
    } while (next >= 128);
    return value;
  }

  String text() throws ProtocolException {
    int length = length();
    String text = new String(bytes, at, length, UTF_8);
    at += length;
    return text;
  }

  private byte[] binary() throws ProtocolException {
    int length = length();
    byte[] copy = new byte[length];
    System.arraycopy(bytes, at, copy, 0, length);
    at += length;
    return copy;
  }

  private int length() throws ProtocolException {
    long length = number();
    if (length < 0 || length > end - at) {
      throw new ProtocolException("text: longer than its frame");
    }
    return (int) length;
  }

  /**
   * A typed value: a {@link Boolean}, {@link Long}, {@link String} or {@code byte[]}; null for the
   * null type. Addresses are byte arrays.
   */
  @Nullable Object value() throws ProtocolException {
    int type = octet();
    return switch (type & 0x0f) {
      case 0 -> null;
      case 1 -> (type & TRUE) != 0;
      case 2, 3, 4, 5 -> number();
      case 6 -> address(4);
      case 7 -> address(16);
      case 8 -> text();
      case 9 -> binary();
      default -> throw new ProtocolException("type: " + type + " (expected: 0 to 9)");
    };
  }

  private byte[] address(int length) throws ProtocolException {
    byte[] address = new byte[length];
    for (int i = 0; i < length; i++) {
      address[i] = (byte) octet();
    }
    return address;
  }
}
