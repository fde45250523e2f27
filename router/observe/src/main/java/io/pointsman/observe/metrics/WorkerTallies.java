package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Counts per worker, in a table indexed by the worker's slot. The first placement on a new worker
 * replaces the counts of the slot's former owner, so the table never grows. Thread-safe.
 */
final class WorkerTallies {
  static final class WorkerTally {
    private final Worker worker;
    private final LongAdder placed = new LongAdder();
    private final LongAdder succeeded = new LongAdder();
    private final LongAdder failed = new LongAdder();
    private final LongAdder ignored = new LongAdder();

    private WorkerTally(Worker worker) {
      this.worker = worker;
    }

    long placed() {
      return placed.sum();
    }

    long succeeded() {
      return succeeded.sum();
    }

    long failed() {
      return failed.sum();
    }

    long ignored() {
      return ignored.sum();
    }
  }

  private final AtomicReferenceArray<@Nullable WorkerTally> bySlot;

  /**
   * @param slots number of slots of the fleet
   */
  WorkerTallies(int slots) {
    bySlot = new AtomicReferenceArray<>(slots);
  }

  void placed(Worker worker) {
    own(worker).placed.increment();
  }

  void settled(Worker worker, Outcome outcome) {
    WorkerTally tally = of(worker);
    if (tally == null) {
      return;
    }
    switch (outcome) {
      case Outcome.Succeeded _ -> tally.succeeded.increment();
      case Outcome.Failed _ -> tally.failed.increment();
      case Outcome.Ignored _ -> tally.ignored.increment();
    }
  }

  /** The worker's counts; null before the first placement on it. */
  @Nullable WorkerTally of(Worker worker) {
    WorkerTally tally = bySlot.get(worker.slot());
    return tally != null && tally.worker == worker ? tally : null;
  }

  private WorkerTally own(Worker worker) {
    WorkerTally tally = bySlot.get(worker.slot());
    while (tally == null || tally.worker != worker) {
      bySlot.compareAndSet(worker.slot(), tally, new WorkerTally(worker));
      tally = bySlot.get(worker.slot());
    }
    return tally;
  }
}
