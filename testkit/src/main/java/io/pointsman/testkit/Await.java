package io.pointsman.testkit;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Waits for what another thread or process does; bounded, and ended by an interrupt. */
public final class Await {
  /** A bound against hanging, not an expectation: no machine is slow enough to reach it. */
  public static final Duration LONG = Duration.ofSeconds(60);

  private Await() {}

  /**
   * Waits until {@code condition} holds.
   *
   * @throws AssertionError if it does not within {@link #LONG}
   */
  public static void until(String what, BooleanSupplier condition) {
    until(() -> what, condition);
  }

  /** The same with a message made when it is needed. */
  public static void until(Supplier<String> what, BooleanSupplier condition) {
    until(what, LONG, condition);
  }

  /** The same with a limit of its own. */
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
