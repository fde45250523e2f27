package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Limit of the workers that circuit breakers, stalls and signs of a shutdown exclude at once, for
 * each model and role. Beyond it a failing worker stays in service: the workers that failed first
 * are out, the others serve. Clients can cause the evidence, so it must not exclude a fleet. Any
 * thread may use it.
 */
public final class EjectionLimit {
  private volatile double share;
  private final Supplier<FleetSnapshot> fleet;
  private final LongAdder refused = new LongAdder();

  /**
   * @param share maximum share of the workers of a model, 0 to 1; 1 means no limit
   * @param fleet the newest snapshot
   */
  EjectionLimit(double share, Supplier<FleetSnapshot> fleet) {
    this.share = share;
    this.fleet = fleet;
  }

  /** Replaces the share. */
  void share(double next) {
    share = next;
  }

  /** Returns true if failures never exclude the last worker of a model. */
  public boolean sparesLast() {
    return share < 1;
  }

  /** Number of times that the limit kept a failing worker in service, or took one back. */
  public long refused() {
    return refused.sum();
  }

  /**
   * Runs {@code open}, which opens the breaker of {@code worker}, if the limit admits it. The lock
   * makes two breakers that open together see each other.
   *
   * @return false if the worker stays in service
   */
  synchronized boolean eject(Worker worker, Runnable open) {
    if (share < 1 && !admits(worker, false)) {
      refused.increment();
      return false;
    }
    open.run();
    return true;
  }

  /**
   * Runs {@code mark}, which excludes {@code worker} by other evidence than failures, if the limit
   * admits it. An only worker may be marked unless the share is 0. It still serves if it has
   * stalled; if its engine shuts down, it gets a trial once per second.
   *
   * @param counts false if a refusal is not counted, because the same evidence was refused before
   * @return false if the worker stays in service
   */
  synchronized boolean exclude(Worker worker, boolean counts, Runnable mark) {
    if (share < 1 && !admits(worker, true)) {
      if (counts) {
        refused.increment();
      }
      return false;
    }
    mark.run();
    return true;
  }

  /**
   * @param only true if an only worker may be excluded
   */
  private boolean admits(Worker worker, boolean only) {
    FleetSnapshot snapshot = fleet.get();
    Role role = worker.spec().role();
    ServedModels models = snapshot.models(worker);
    if (models.names().isEmpty()) {
      return admits(worker, snapshot.pool(role), only);
    }
    for (String model : models.names()) {
      if (!admits(worker, snapshot.pool(role, model), only)) {
        return false;
      }
    }
    return true;
  }

  private boolean admits(Worker worker, @Nullable Pool pool, boolean only) {
    if (pool == null || (only && share > 0 && pool.size() == 1)) {
      return true;
    }
    int out = 1;
    boolean othersServe = false;
    for (Worker other : pool.workers()) {
      if (other != worker) {
        out += excluded(other) ? 1 : 0;
        othersServe |= other.inService() && !excluded(other);
      }
    }
    int most = share == 0 ? 0 : Math.max(1, (int) (share * pool.size()));
    return othersServe && out <= most;
  }

  private static boolean excluded(Worker worker) {
    return worker.breaker().state() != CircuitBreaker.State.CLOSED
        || worker.stalled()
        || worker.closing();
  }

  /** Takes back a worker with an open breaker, because no other worker is in service. */
  public void readmit(Worker worker) {
    if (worker.breaker().readmit()) {
      refused.increment();
    }
  }
}
