package io.pointsman.control.health;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Adds the models that workers report to a fleet, in batches. Any thread. */
final class ModelBatches {
  /** Several times the cost of a fleet change per worker. */
  private static final long GATHERING_NANOS_PER_WORKER = 10_000;

  private final Fleet fleet;

  /** Models that are not yet in the fleet. It is its own lock. */
  private final Map<Worker, ServedModels> learned = new HashMap<>();

  private final ReentrantLock learning = new ReentrantLock();

  ModelBatches(Fleet fleet) {
    this.fleet = fleet;
  }

  /**
   * Adds models to the fleet, in a batch with the models of other probes. Each fleet change costs
   * time in proportion to the number of workers, so a large fleet must not change once per worker.
   * Unchanged models cost nothing.
   */
  void learn(Worker worker, ServedModels models) {
    if (fleet.snapshot().models(worker).equals(models)) {
      return;
    }
    synchronized (learned) {
      learned.put(worker, models);
    }
    LockSupport.parkNanos(GATHERING_NANOS_PER_WORKER * fleet.snapshot().workers().size());
    learning.lock();
    try {
      Map<Worker, ServedModels> batch;
      synchronized (learned) {
        batch = Map.copyOf(learned);
        learned.clear();
      }
      if (!batch.isEmpty()) {
        fleet.learnModels(batch);
      }
    } finally {
      learning.unlock();
    }
  }
}
