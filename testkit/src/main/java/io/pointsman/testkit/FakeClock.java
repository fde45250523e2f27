package io.pointsman.testkit;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Time that moves only when told to. Starts far from zero, near the wrap-around of a signed long is
 * {@link #nearOverflow()}.
 */
public final class FakeClock {
  private final AtomicLong nanos;

  public FakeClock() {
    this(1_000_000_000_000L);
  }

  private FakeClock(long start) {
    nanos = new AtomicLong(start);
  }

  /** A clock that wraps around within the next second, as a monotonic clock may. */
  public static FakeClock nearOverflow() {
    return new FakeClock(Long.MAX_VALUE - 500_000_000L);
  }

  /** Present time in nanoseconds; use it as {@code clock::nanos}. */
  public long nanos() {
    return nanos.get();
  }

  public void advance(Duration by) {
    nanos.addAndGet(by.toNanos());
  }
}
