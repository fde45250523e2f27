package io.pointsman.it.support;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for a state that another thread or process reaches, with a limit. */
public final class WaitFor {
  /** Limit against hanging, not an expected time. */
  public static final Duration LONG = Duration.ofSeconds(60);

  private WaitFor() {}

  /**
   * Waits until {@code condition} is true.
   *
   * @return duration of the wait in milliseconds
   * @throws AssertionError if it is still false after {@code limit}
   */
  public static double until(String what, Duration limit, BooleanSupplier condition) {
    return until(() -> what, limit, condition);
  }

  /** Waits until {@code condition} is true; the message is created only on failure. */
  public static double until(Supplier<String> what, Duration limit, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > limit.toNanos()) {
        throw new AssertionError("not within " + limit.toMillis() + " ms: " + what.get());
      }
      pauseMicros(500);
    }
    return (System.nanoTime() - start) / 1e6;
  }

  /** Lets a scenario in real time continue for a while. */
  public static void pause(long millis) {
    pauseMicros(TimeUnit.MILLISECONDS.toMicros(millis));
  }

  private static void pauseMicros(long micros) {
    try {
      TimeUnit.MICROSECONDS.sleep(micros);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted while waiting", e);
    }
  }
}
