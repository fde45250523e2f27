package io.pointsman.engine.env;

/** The message for a port that cannot be bound. */
public final class BindProblem {
  private static final int MOST_CAUSES = 8;

  /** End of the name of a failed call: {@code bind(..) failed with error(-98): Address ...}. */
  private static final String NATIVE_END = "): ";

  private BindProblem() {}

  /**
   * The message, with the reason of the operating system: the port is in use, the address belongs
   * to another machine, or the process may not use the port.
   *
   * @param place key or group of the configuration and the address, {@code listen: 127.0.0.1:80}
   */
  public static String of(String place, Throwable failure) {
    return place
        + ": "
        + reason(failure)
        + " (expected: a free port of an address of this machine)";
  }

  private static String reason(Throwable failure) {
    Throwable cause = failure;
    for (int i = 0; i < MOST_CAUSES && cause.getCause() != null; i++) {
      cause = cause.getCause();
    }
    String message = cause.getMessage();
    if (message == null || message.isBlank()) {
      // UnresolvedAddressException has no message.
      return "the address cannot be resolved";
    }
    // Native transports put the call and its error number before the reason.
    int end = message.indexOf(NATIVE_END);
    return LogText.of(end < 0 ? message : message.substring(end + NATIVE_END.length()));
  }
}
