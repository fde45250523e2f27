package io.pointsman.control.health;

import java.io.Serial;
import java.net.SocketTimeoutException;

/** A connection that was not accepted in time. */
final class ConnectTimeout extends SocketTimeoutException {
  @Serial private static final long serialVersionUID = 1;

  ConnectTimeout(String message) {
    super(message);
  }
}
