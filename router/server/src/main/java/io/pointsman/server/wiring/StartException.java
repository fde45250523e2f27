package io.pointsman.server.wiring;

/** The router cannot start; the message contains the reason. */
public final class StartException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public StartException(String message, Throwable cause) {
    super(message, cause);
  }
}
