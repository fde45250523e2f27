package io.pointsman.proxy.retry;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Conditions for a retry on another worker. A retry is possible only before the client has received
 * a byte. It never uses a worker that was tried before.
 *
 * @param maxAttempts maximum number of attempts, including the first; at least 1, which means no
 *     retries
 * @param initialBackoff delay before the first retry. After a refused connection or a busy worker
 *     there is no delay
 * @param maxBackoff maximum delay, and maximum {@code Retry-After} that is honoured
 * @param multiplier factor between the delays of two retries; at least 1
 * @param jitter random variation of the delay as a share of it, 0 to 1
 * @param afterTimeout true to retry if a worker sent no head in time. Default false, because the
 *     worker may still generate
 * @param afterLateReset true to retry once if the connection broke before an answer, but more than
 *     {@link #LATE} after the request was sent. The worker may have computed since then, and the
 *     same request may fail on the next one
 * @param budgetShare number of retries per request on average, 0 to 1; it limits retry storms
 * @param budgetPerSecond number of retries per second that are always permitted; at least 0
 * @param poison memory of requests after which engines failed
 */
@RecordBuilder
public record RetrySettings(
    int maxAttempts,
    Duration initialBackoff,
    Duration maxBackoff,
    double multiplier,
    double jitter,
    boolean afterTimeout,
    boolean afterLateReset,
    double budgetShare,
    double budgetPerSecond,
    PoisonSettings poison)
    implements RetrySettingsBuilder.With {

  /**
   * Time after which the end of a connection has no meaning for the start of the request: the
   * worker may have started it. A worker closes an idle connection within one round trip.
   */
  public static final Duration LATE = Duration.ofSeconds(1);

  public static final RetrySettings DEFAULTS =
      new RetrySettings(
          5,
          Duration.ofMillis(50),
          Duration.ofSeconds(30),
          1.5,
          0.2,
          false,
          true,
          0.2,
          10,
          PoisonSettings.DEFAULTS);

  public RetrySettings {
    requireNonNull(poison, "poison");
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

  /** Copy with other delays. */
  public RetrySettings withBackoff(Duration initial, Duration most) {
    return with().initialBackoff(initial).maxBackoff(most).build();
  }

  /** Copy with another budget. */
  public RetrySettings withBudget(double share, double perSecond) {
    return with().budgetShare(share).budgetPerSecond(perSecond).build();
  }
}
