package io.pointsman.engine;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;

/** The engine's answer to one request. */
public sealed interface Decision {
  /** A worker was chosen and the request counts on it. Whoever holds the lease must settle it. */
  record Routed(Lease lease) implements Decision {
    public Worker worker() {
      return lease.worker();
    }
  }

  /**
   * No worker was chosen; nothing is held.
   *
   * @param retryAfterNanos when to try again, as far as known; 0 if not known
   * @param busyStatus where all workers rest because they said that they are busy, the HTTP status
   *     by which the first that comes back said so; 0 where it is not known, or where a limit of
   *     the router's own stands in the way too
   */
  record Rejected(RejectReason reason, long retryAfterNanos, int busyStatus) implements Decision {
    public Rejected(RejectReason reason, long retryAfterNanos) {
      this(reason, retryAfterNanos, 0);
    }
  }
}
