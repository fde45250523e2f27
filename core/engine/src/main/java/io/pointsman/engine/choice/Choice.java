package io.pointsman.engine.choice;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Worker;

/** The answer to an external proxy that asks where to send a request. */
public sealed interface Choice {
  /**
   * A worker is chosen. The request counts on it until the proxy settles the lease or the lease
   * expires.
   *
   * @param lease id for confirming, renewing and settling
   * @param expiresInNanos nanoseconds until the lease expires, unless the proxy renews it
   */
  record Leased(Worker worker, String lease, long expiresInNanos) implements Choice {}

  /** A worker is chosen, without a lease. The request does not count as load. */
  record Pointed(Worker worker) implements Choice {}

  /** No worker is available. No lease is held. */
  record Refused(Decision.Rejected rejection) implements Choice {}

  /**
   * The maximum number of leases is held. No decision was made.
   *
   * @param retryAfterNanos nanoseconds until the next lease expires, unless one is settled earlier
   */
  record TooManyLeases(long retryAfterNanos) implements Choice {}

  /**
   * The id that the proxy requested for the lease is not available. No lease is held.
   *
   * @param lease the requested id
   * @param settled true if the id was settled already, for example by a proxy that gave up. False
   *     if another lease has it, or had it and expired.
   */
  record IdTaken(String lease, boolean settled) implements Choice {}
}
