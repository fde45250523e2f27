package io.pointsman.tool.bench.chaos;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** Time intervals in which faults may have cut streams, by worker. Thread-safe. */
final class Afflictions {
  /** Longest delay between the order for a fault and its start or end. */
  private static final long LATE_NANOS = TimeUnit.MILLISECONDS.toNanos(Strikes.RECOVERY_MILLIS);

  private final Queue<Affliction> all = new ConcurrentLinkedQueue<>();

  private record Affliction(String worker, long from, long to) {}

  /**
   * Adds a fault that ends streams; called immediately before its order.
   *
   * @param worker address in the form that the router reports
   * @param now time of {@link System#nanoTime}
   * @param lastsMillis duration of the fault in milliseconds
   */
  void add(String worker, long now, int lastsMillis) {
    long lasts = TimeUnit.MILLISECONDS.toNanos(lastsMillis);
    all.add(new Affliction(worker, now, now + lasts + LATE_NANOS));
  }

  /** True if a fault may have cut a stream of the worker between the two times. */
  boolean explain(String worker, long from, long to) {
    return all.stream()
        .anyMatch(
            one -> one.worker().equals(worker) && one.from() - to <= 0 && one.to() - from >= 0);
  }
}
