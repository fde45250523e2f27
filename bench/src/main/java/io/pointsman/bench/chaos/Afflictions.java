package io.pointsman.bench.chaos;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** When streams may have been cut on which worker; safe for use by several threads. */
final class Afflictions {
  /** A fault may set in, and end, so much later than it was ordered. */
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(Strikes.RECOVERY_MILLIS);

  private final Queue<Affliction> all = new ConcurrentLinkedQueue<>();

  private record Affliction(String worker, long from, long to) {}

  /**
   * A fault is about to strike that ends streams.
   *
   * @param worker as the router calls it
   * @param now of {@link System#nanoTime}
   */
  void add(String worker, long now, int lastsMillis) {
    long lasts = TimeUnit.MILLISECONDS.toNanos(lastsMillis);
    all.add(new Affliction(worker, now, now + lasts + LATE_NANOS));
  }

  /** Whether a stream of a worker can have been cut between two times. */
  boolean explain(String worker, long from, long to) {
    return all.stream()
        .anyMatch(
            one -> one.worker().equals(worker) && one.from() - to <= 0 && one.to() - from >= 0);
  }
}
