package io.pointsman.engine.policy;

/** The waits of one request before its placement. Owned by the request's thread. */
public final class RequestWaits {
  private boolean placed;
  private long firstPlacedAt;
  private boolean deferred;
  private long deferredAt;
  private boolean awaited;

  /** Records that the request is deferred since {@code at}. Only the first time counts. */
  public void deferred(long at) {
    if (!deferred && !placed) {
      deferred = true;
      deferredAt = at;
    }
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
