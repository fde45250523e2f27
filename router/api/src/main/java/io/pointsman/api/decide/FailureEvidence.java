package io.pointsman.api.decide;

/**
 * Decides if a failure that a proxy reports counts against the worker. Each lease that ends gives
 * the proxy a share of a failure, up to a burst, and each counted failure takes one. So a faulty or
 * hostile proxy cannot take all workers out. Any thread.
 */
final class FailureEvidence {
  /** Failures that count at once: more than a circuit breaker needs. */
  static final int BURST = 16;

  private final double share;
  private double left = BURST;

  /**
   * @param share share of leases that may count as failures; 0: none
   */
  FailureEvidence(double share) {
    this.share = share;
  }

  /** Records the end of a lease. */
  synchronized void ended() {
    left = Math.min(BURST, left + share);
  }

  /** Takes back a failure that counted, because it was not one of a lease. */
  synchronized void back() {
    left = Math.min(BURST, left + 1);
  }

  /** True if a failure counts now. */
  synchronized boolean counts() {
    if (share == 0 || left < 1) {
      return false;
    }
    left -= 1;
    return true;
  }
}
