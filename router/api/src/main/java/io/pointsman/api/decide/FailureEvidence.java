package io.pointsman.api.decide;

import java.util.function.DoubleSupplier;

/**
 * Decides if a failure or a departure that a proxy reports counts against the worker. Each lease
 * that ends gives the proxy a share of a failure, up to a burst, and each counted failure takes
 * one. So a faulty or hostile proxy cannot take all workers out. Any thread.
 */
final class FailureEvidence {
  /** Failures that count at once: more than a circuit breaker needs. */
  static final int BURST = 16;

  private final DoubleSupplier share;
  private final int burst;
  private double left;

  /**
   * @param share share of leases that may count as failures, 0: none; may change
   */
  FailureEvidence(DoubleSupplier share) {
    this(share, BURST);
  }

  /**
   * @param share share of leases that may count, 0: none; may change
   * @param burst number of reports that count at once
   */
  FailureEvidence(DoubleSupplier share, int burst) {
    this.share = share;
    this.burst = burst;
    left = burst;
  }

  /** Records the end of a lease. */
  synchronized void ended() {
    left = Math.min(burst, left + share.getAsDouble());
  }

  /** Takes back a failure that counted, because it was not one of a lease. */
  synchronized void back() {
    left = Math.min(burst, left + 1);
  }

  /** True if a failure counts now. */
  synchronized boolean counts() {
    if (share.getAsDouble() == 0 || left < 1) {
      return false;
    }
    left -= 1;
    return true;
  }
}
