package io.pointsman.control.health;

import java.io.IOException;
import java.io.Serial;

/** A response that is not HTTP/1. */
final class NotHttp extends IOException {
  /** The first bytes are enough to recognize a TLS record or an HTTP/2 frame. */
  private static final int MOST_SHOWN = 40;

  @Serial private static final long serialVersionUID = 1;

  private final String received;

  /**
   * @param received the first bytes as characters
   */
  NotHttp(String received) {
    super("not an HTTP response");
    this.received = received.substring(0, Math.min(received.length(), MOST_SHOWN));
  }

  /** The first bytes as characters. */
  String received() {
    return received;
  }

  /** True if the response is a TLS alert or another record of TLS. */
  boolean isTls() {
    return received.length() > 1
        && received.charAt(0) >= 0x14
        && received.charAt(0) <= 0x17
        && received.charAt(1) == 3;
  }

  /** True if the response begins with the frame SETTINGS or GOAWAY, on stream 0. */
  boolean isHttp2() {
    return received.length() >= 9
        && received.charAt(0) == 0
        && (received.charAt(3) == 4 || received.charAt(3) == 7)
        && received.startsWith("\0\0\0\0", 5);
  }
}
