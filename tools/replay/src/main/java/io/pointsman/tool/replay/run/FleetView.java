package io.pointsman.tool.replay.run;

import io.pointsman.engine.fleet.Worker;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The simulated engines of the workers, and the exchange of a routing request. */
public final class FleetView {
  private final Map<Worker, SimWorker> byWorker = new HashMap<>();
  private @Nullable ReplayedRequest present;

  void put(SimWorker worker) {
    byWorker.put(worker.worker(), worker);
  }

  void decidingOn(ReplayedRequest exchange) {
    present = exchange;
  }

  /** The engine of a worker. */
  public SimWorker engine(Worker worker) {
    SimWorker engine = byWorker.get(worker);
    if (engine == null) {
      throw new IllegalArgumentException("worker: " + worker + " (expected: a simulated one)");
    }
    return engine;
  }

  /** The request that is being decided. */
  public ReplayedRequest exchange() {
    ReplayedRequest exchange = present;
    if (exchange == null) {
      throw new IllegalStateException("request: none (expected: one that is being decided on)");
    }
    return exchange;
  }
}
