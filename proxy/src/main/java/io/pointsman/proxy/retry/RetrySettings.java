package io.pointsman.proxy.retry;

import java.time.Duration;

/**
 * When a request is tried again on another worker. Only before the first byte of an answer has gone
 * to the client, and never on a worker that was tried before.
 *
 * @param maxAttempts attempts in all, the first included; at least 1, which means no retries
 * @param initialBackoff wait before the first retry; none after a refused connection or a busy
 *     worker, for those another worker can take the request at once
 * @param maxBackoff longest wait, and longest {@code Retry-After} that is honoured
 * @param multiplier growth of the wait from one retry to the next; at least 1
 * @param jitter share of the wait, 0 to 1, by which it varies both ways
 * @param afterTimeout whether a worker that sent no head of an answer in time is given up for
 *     another. Off by default: it may still be generating.
 * @param afterLateReset whether a worker whose connection broke before an answer, but later than
 *     {@link #LATE} after the request was sent, is given up for another, once: it has computed all
 *     that time, and what broke it may break the next one.
 * @param budgetShare retries allowed for each request, 0 to 1, so that retries cannot become a
 *     storm
 * @param budgetPerSecond retries per second allowed in any case; at least 0
 */
public record RetrySettings(
    int maxAttempts,
    Duration initialBackoff,
    Duration maxBackoff,
    double multiplier,
    double jitter,
    boolean afterTimeout,
    boolean afterLateReset,
    double budgetShare,
    double budgetPerSecond) {

  /**
   * Time since a request was sent after which the end of its connection tells nothing of whether
   * the worker has begun with it. One that closes an unused connection does so within a round trip.
   */
  public static final Duration LATE = Duration.ofSeconds(1);

  public static final RetrySettings DEFAULTS =
      new RetrySettings(
          5, Duration.ofMillis(50), Duration.ofSeconds(30), 1.5, 0.2, false, true, 0.2, 10);

  public RetrySettings {
    if (maxAttempts < 1) {
      throw new IllegalArgumentException("maxAttempts: " + maxAttempts + " (expected: >= 1)");
    }
    if (initialBackoff.isNegative()) {
      throw new IllegalArgumentException("initialBackoff: " + initialBackoff + " (expected: >= 0)");
    }
    if (maxBackoff.compareTo(initialBackoff) < 0) {
      throw new IllegalArgumentException(
          "maxBackoff: " + maxBackoff + " (expected: >= initialBackoff, " + initialBackoff + ")");
    }
    if (!(multiplier >= 1)) {
      throw new IllegalArgumentException("multiplier: " + multiplier + " (expected: >= 1)");
    }
    share("jitter", jitter);
    share("budgetShare", budgetShare);
    if (!(budgetPerSecond >= 0)) {
      throw new IllegalArgumentException(
          "budgetPerSecond: " + budgetPerSecond + " (expected: >= 0)");
    }
  }

  private static void share(String name, double value) {
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: 0 to 1)");
    }
  }

  /** The same with another number of attempts. */
  public RetrySettings withMaxAttempts(int attempts) {
    return new RetrySettings(
        attempts,
        initialBackoff,
        maxBackoff,
        multiplier,
        jitter,
        afterTimeout,
        afterLateReset,
        budgetShare,
        budgetPerSecond);
  }

  /** The same with other waits. */
  public RetrySettings withBackoff(Duration initial, Duration most) {
    return new RetrySettings(
        maxAttempts,
        initial,
        most,
        multiplier,
        jitter,
        afterTimeout,
        afterLateReset,
        budgetShare,
        budgetPerSecond);
  }

  /** The same with another budget. */
  public RetrySettings withBudget(double share, double perSecond) {
    return new RetrySettings(
        maxAttempts,
        initialBackoff,
        maxBackoff,
        multiplier,
        jitter,
        afterTimeout,
        afterLateReset,
        share,
        perSecond);
  }

  /** The same with another choice for connections that break late. */
  public RetrySettings withAfterLateReset(boolean again) {
    return new RetrySettings(
        maxAttempts,
        initialBackoff,
        maxBackoff,
        multiplier,
        jitter,
        afterTimeout,
        again,
        budgetShare,
        budgetPerSecond);
  }
}
