package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

/** Factory of request heads for tests of other packages. */
public final class RequestHeads {
  private RequestHeads() {}

  /**
   * The head in a text.
   *
   * @param text head with its empty line
   */
  public static RequestHead of(String text) {
    byte[] bytes = text.getBytes(ISO_8859_1);
    RequestParser parser = new RequestParser(bytes.length, bytes.length);
    int length = parser.parse(bytes, bytes.length);
    if (length <= 0) {
      throw new IllegalArgumentException("text: " + text + " (expected: the head of a request)");
    }
    return new RequestHead(parser, bytes, length);
  }
}
