package io.pointsman.engine.fleet;

/** The progress that a worker is expected to show on a request. */
public enum LeaseKind {
  /** The request is sent at once, and its response is a stream. */
  STREAM(false, true),
  /** The request is sent at once, and its response shows no progress before its end. */
  WHOLE(false, false),
  /**
   * Like {@link #STREAM}, but the request is sent later: another worker does its part before, or
   * another proxy sends it. No progress is expected before {@link Lease#dispatched}.
   */
  LATER_STREAM(true, true),
  /** Like {@link #WHOLE}, but the request is sent later. */
  LATER_WHOLE(true, false);

  private final boolean later;
  private final boolean stream;

  LeaseKind(boolean later, boolean stream) {
    this.later = later;
    this.stream = stream;
  }

  /**
   * @param later true if the request is not sent at once
   * @param stream true if output before the end of the response is observed
   */
  public static LeaseKind of(boolean later, boolean stream) {
    if (later) {
      return stream ? LATER_STREAM : LATER_WHOLE;
    }
    return stream ? STREAM : WHOLE;
  }

  /** Returns true if the request is not sent at once. */
  public boolean later() {
    return later;
  }

  /** Returns true if the response shows no progress before its end. */
  public boolean whole() {
    return !stream;
  }
}
