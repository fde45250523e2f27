package io.pointsman.it.support;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what another thread or process does; bounded. */
public final class Await {
  /** Long enough for any machine: a bound against hanging, not an expectation. */
  public static final Duration LONG = Duration.ofSeconds(60);

  private Await() {}

  /**
   * Waits until {@code condition} holds.
   *
   * @return how long that took, in milliseconds
   * @throws AssertionError if it does not within {@code limit}
   */
  public static double until(String what, Duration limit, BooleanSupplier condition) {
    return until(() -> what, limit, condition);
  }

  /** The same with a message made when it is needed. */
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

  /** Lets a scenario that plays in real time go on for a while. */
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
