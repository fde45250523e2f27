package io.pointsman.testkit;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * A clock that only {@link #advance} moves. It starts far from zero; {@link #nearOverflow()} starts
 * near the overflow of a signed long.
 */
public final class FakeClock {
  private final AtomicLong nanos;
  private final LongAdder reads = new LongAdder();

  public FakeClock() {
    this(1_000_000_000_000L);
  }

  private FakeClock(long start) {
    nanos = new AtomicLong(start);
  }

  /** A clock that overflows within the next second, as a monotonic clock may. */
  public static FakeClock nearOverflow() {
    return new FakeClock(Long.MAX_VALUE - 500_000_000L);
  }

  /** The time in nanoseconds; used as {@code clock::nanos}. */
  public long nanos() {
    reads.increment();
    return nanos.get();
  }

  /** Number of reads of the time. It shows that periodic work was done again. */
  public long reads() {
    return reads.sum();
  }

  public void advance(Duration by) {
    nanos.addAndGet(by.toNanos());
  }
}
