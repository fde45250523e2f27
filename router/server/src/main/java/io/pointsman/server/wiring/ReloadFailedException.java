package io.pointsman.server.wiring;

/** A part of a changed configuration cannot be put into force; the message has the reason. */
public final class ReloadFailedException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  private ReloadFailedException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * A failure of one part.
   *
   * @param part name of the part
   */
  static ReloadFailedException of(String part, Throwable cause) {
    String reason = isExpected(cause) ? String.valueOf(cause.getMessage()) : cause.toString();
    return new ReloadFailedException(
        reason.startsWith(part + ": ") ? reason : part + ": " + reason, cause);
  }

  private static boolean isExpected(Throwable cause) {
    return cause instanceof IllegalArgumentException || cause instanceof IllegalStateException;
  }

  /** True if the reason is a fault of the program, not the values or the state of the router. */
  public boolean isFault() {
    Throwable cause = getCause();
    if (cause == null) {
      return false;
    }
    // Event loops and listeners wrap the failures of their tasks in an expected exception.
    Throwable root = root(cause);
    boolean checked = root instanceof Exception && !(root instanceof RuntimeException);
    return !isExpected(cause) || !(checked || isExpected(root));
  }

  private static Throwable root(Throwable failure) {
    Throwable root = failure;
    for (Throwable next = root.getCause(); next != null; next = root.getCause()) {
      root = next;
    }
    return root;
  }

  /** True if the earlier configuration is in force completely. */
  public boolean isUndone() {
    return getSuppressed().length == 0;
  }
}
