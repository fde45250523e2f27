package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.control.health.KvCapacity;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;

/** Asks engines for the size of their KV memory, if a policy in force needs it. Thread-safe. */
final class Capacities {
  /** Maximum number of engines that are asked at a time after a change. */
  private static final int MOST_AT_ONCE = 32;

  private final Fleet fleet;
  private final KvCapacity capacity;
  private final Supplier<PointsmanConfig> present;

  /**
   * @param present the configuration in force
   */
  Capacities(Fleet fleet, KvCapacity capacity, Supplier<PointsmanConfig> present) {
    this.fleet = fleet;
    this.capacity = capacity;
    this.present = present;
  }

  /** Asks a worker. Blocks. */
  void learn(Worker worker) {
    if (ConfiguredPolicies.needKvCapacity(present.get(), worker.spec().role())) {
      capacity.learn(worker);
    }
  }

  /** Asks all workers that were not asked before, each on a thread of its own. */
  void learnMissing() {
    Semaphore places = new Semaphore(MOST_AT_ONCE);
    for (Worker worker : fleet.snapshot().workers()) {
      if (worker.kvTokens() == 0) {
        Thread.ofVirtual().name("kv-capacity").start(() -> learn(worker, places));
      }
    }
  }

  private void learn(Worker worker, Semaphore places) {
    places.acquireUninterruptibly();
    try {
      learn(worker);
    } finally {
      places.release();
    }
  }
}
