package io.pointsman.engine.policy;

/** The waits of one request before its placement. Owned by the request's thread. */
public final class RequestWaits {
  private boolean placed;
  private long firstPlacedAt;
  private boolean deferred;
  private long deferredAt;
  private double plainMillis = Double.NaN;
  private boolean awaited;

  /**
   * Records that the request is deferred since {@code at}. Only the first time counts.
   *
   * @param plainMillis the plain choice's time to first token, predicted at that time, had no
   *     request been deferred; NaN if unknown
   */
  public void deferred(long at, double plainMillis) {
    if (!deferred && !placed) {
      deferred = true;
      deferredAt = at;
      this.plainMillis = plainMillis;
    }
  }

  /** Returns the nanoseconds for which the placed request was deferred; 0 if it was not. */
  public long deferredNanos() {
    return placed && deferred ? firstPlacedAt - deferredAt : 0;
  }

  /** Returns the prediction of {@link #deferred}; NaN if the request was not deferred. */
  public double plainMillis() {
    return plainMillis;
  }

  /** Records that the request waits because no worker is available. */
  public void awaits() {
    awaited = true;
  }

  /** Returns true if the request has waited because no worker was available. */
  public boolean awaited() {
    return awaited;
  }

  /** Records that a worker was chosen at {@code at}. Only the first time counts. */
  public void placed(long at) {
    if (!placed) {
      placed = true;
      firstPlacedAt = at;
    }
  }

  /** Time of the request's first placement, which may precede the last attempt. */
  public long firstPlacedAt() {
    return firstPlacedAt;
  }

  /** Start of the request: the time it was deferred, or else the time it was first placed. */
  public long askedAt() {
    return deferred ? deferredAt : firstPlacedAt;
  }
}
