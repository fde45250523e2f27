package io.pointsman.engine;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;

/** The engine's decision on one request: a lease on a worker, or a rejection. */
public sealed interface Decision {
  /**
   * A worker was chosen, and the request counts as load on it. The holder of the lease must settle
   * it.
   */
  record Routed(Lease lease) implements Decision {
    public Worker worker() {
      return lease.worker();
    }
  }

  /**
   * No worker was chosen. No lease is held.
   *
   * @param retryAfterNanos nanoseconds until a retry may succeed; 0 if unknown
   * @param busyStatus the HTTP status with which the first worker to end its rest reported that it
   *     is busy. 0 if unknown, or if a limit of the router rejects the request too.
   */
  record Rejected(RejectReason reason, long retryAfterNanos, int busyStatus) implements Decision {
    public Rejected(RejectReason reason, long retryAfterNanos) {
      this(reason, retryAfterNanos, 0);
    }
  }
}
