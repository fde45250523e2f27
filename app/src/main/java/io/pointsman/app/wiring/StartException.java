package io.pointsman.app.wiring;

/** Something that the router needs to start is not there; the message says what. */
public final class StartException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public StartException(String message, Throwable cause) {
    super(message, cause);
  }
}
