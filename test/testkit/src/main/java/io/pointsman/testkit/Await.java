package io.pointsman.testkit;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Waits for a state that another thread or process reaches. The wait has a limit and ends on
 * interruption.
 */
public final class Await {
  /** Limit against hanging, not an expected time; even slow machines stay far below it. */
  public static final Duration LONG = Duration.ofSeconds(60);

  private Await() {}

  /**
   * Waits until {@code condition} is true.
   *
   * @throws AssertionError if it is still false after {@link #LONG}
   */
  public static void until(String what, BooleanSupplier condition) {
    until(() -> what, condition);
  }

  /** Waits until {@code condition} is true; the message is created only on failure. */
  public static void until(Supplier<String> what, BooleanSupplier condition) {
    until(what, LONG, condition);
  }

  /** Waits until {@code condition} is true, with the given limit. */
  public static void until(Supplier<String> what, Duration limit, BooleanSupplier condition) {
    long start = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - start > limit.toNanos()) {
        throw new AssertionError("still not so after " + limit.toMillis() + " ms: " + what.get());
      }
      try {
        TimeUnit.MILLISECONDS.sleep(1);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new AssertionError("interrupted while waiting: " + what.get(), e);
      }
    }
  }
}
