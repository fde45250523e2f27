package io.pointsman.proxy.exchange;

import io.pointsman.proxy.settings.ClientLimits;

/**
 * Rate at which a request's body arrives. It counts only while the router waits for the client,
 * over one period after another. Belongs to the client's event loop.
 */
final class UploadRate {
  private static final double NANOS = 1e9;

  private boolean measures;
  private long since;
  private long before;

  /**
   * True if the body arrives too slowly. Called at each check of timeouts.
   *
   * @param waits true if the router waits for more of the body
   * @param total number of received bytes
   */
  boolean tooSlow(long now, boolean waits, long total, ClientLimits limits) {
    if (!waits || limits.minUploadRate() == 0) {
      measures = false;
      return false;
    }
    if (measures && now - since < limits.uploadGrace().toNanos()) {
      return false;
    }
    boolean slow = measures && total - before < limits.minUploadRate() * ((now - since) / NANOS);
    measures = true;
    since = now;
    before = total;
    return slow;
  }
}
