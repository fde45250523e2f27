package io.pointsman.proxy.wire;

/**
 * The name of a client's trailer. Trailers that change the framing or target of a request are
 * refused.
 */
final class TrailerName {
  /** Length of {@code transfer-encoding}, the longest refused name. */
  private static final int LONGEST = 17;

  private final byte[] bytes = new byte[LONGEST];
  private int length;

  /** Adds the next byte. */
  void add(byte b) {
    if (length < LONGEST) {
      bytes[length] = b;
    }
    length++;
  }

  /** True if a trailer may have this name (RFC 9110, 6.5.1). */
  boolean allowed() {
    if (length > LONGEST) {
      return true;
    }
    HeaderName name = HeaderName.at(bytes, 0, length);
    return name != HeaderName.CONTENT_LENGTH
        && name != HeaderName.TRANSFER_ENCODING
        && name != HeaderName.HOST;
  }
}
