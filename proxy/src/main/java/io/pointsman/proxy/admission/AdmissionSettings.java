package io.pointsman.proxy.admission;

import java.time.Duration;

/**
 * How many requests for workers are under way at once, and how many may wait for their turn.
 *
 * @param maxConcurrentRequests most requests at once, each counted until the end of its answer; 0
 *     means no limit
 * @param queueSize most requests that wait; 0 turns those above the limit away at once
 * @param queueTimeout longest wait
 * @param queueTimeoutStatus what a request gets that waited so long: 503, or 408 as vllm-router has
 *     it
 * @param ratePerSecond requests let in per second in the long run; as many as may run at once, or
 *     else one second's worth, may come in a burst. 0 means no limit. Those above it wait in the
 *     same queue.
 * @param queueFullStatus status of the answer to a request that finds the queue full; 400 to 599
 */
public record AdmissionSettings(
    int maxConcurrentRequests,
    int queueSize,
    Duration queueTimeout,
    int queueTimeoutStatus,
    int ratePerSecond,
    int queueFullStatus) {

  private static final int TOO_MANY = 429;

  public static final AdmissionSettings DEFAULTS =
      new AdmissionSettings(0, 100, Duration.ofSeconds(60), 503);

  /** Without a limit of the rate. */
  public AdmissionSettings(
      int maxConcurrentRequests, int queueSize, Duration queueTimeout, int queueTimeoutStatus) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, 0);
  }

  /** With 429 for a full queue. */
  public AdmissionSettings(
      int maxConcurrentRequests,
      int queueSize,
      Duration queueTimeout,
      int queueTimeoutStatus,
      int ratePerSecond) {
    this(maxConcurrentRequests, queueSize, queueTimeout, queueTimeoutStatus, ratePerSecond, 429);
  }

  public AdmissionSettings {
    if (maxConcurrentRequests < 0) {
      throw new IllegalArgumentException(
          "maxConcurrentRequests: " + maxConcurrentRequests + " (expected: >= 0)");
    }
    if (queueSize < 0) {
      throw new IllegalArgumentException("queueSize: " + queueSize + " (expected: >= 0)");
    }
    if (!queueTimeout.isPositive()) {
      throw new IllegalArgumentException("queueTimeout: " + queueTimeout + " (expected: > 0)");
    }
    if (queueTimeoutStatus < 400 || queueTimeoutStatus > 599) {
      throw new IllegalArgumentException(
          "queueTimeoutStatus: " + queueTimeoutStatus + " (expected: 400 to 599)");
    }
    if (queueFullStatus < 400 || queueFullStatus > 599) {
      throw new IllegalArgumentException(
          "queueFullStatus: " + queueFullStatus + " (expected: 400 to 599)");
    }
    if (ratePerSecond < 0) {
      throw new IllegalArgumentException("ratePerSecond: " + ratePerSecond + " (expected: >= 0)");
    }
  }

  /**
   * What those who cannot wait in the queue are told while all workers are busy: where others would
   * wait, the same as when it is full, if that is 429; 503 otherwise. Proxies that ask for
   * decisions pass on these two.
   */
  public int busyStatus() {
    return maxConcurrentRequests > 0 && queueFullStatus == TOO_MANY ? TOO_MANY : 503;
  }
}
