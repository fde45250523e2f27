package io.pointsman.proxy.wire;

/** Keeps the name of a client's trailer, to refuse one that would frame or direct a request. */
final class TrailerName {
  /** Length of {@code transfer-encoding}, the longest name that is refused. */
  private static final int LONGEST = 17;

  private final byte[] bytes = new byte[LONGEST];
  private int length;

  /** Takes its next byte. */
  void add(byte b) {
    if (length < LONGEST) {
      bytes[length] = b;
    }
    length++;
  }

  /** Whether a trailer may have the name that ends here (RFC 9110, 6.5.1). */
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
