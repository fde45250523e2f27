package io.pointsman.observe.metrics;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import java.util.function.ToDoubleFunction;

/**
 * The fleet's metrics, read from its latest snapshot at each scrape. A worker that has left has no
 * series.
 */
final class FleetMetrics {
  private final Fleet fleet;
  private final WorkerTallies tallies;
  private final Ticker ticker;

  FleetMetrics(Fleet fleet, WorkerTallies tallies, Ticker ticker) {
    this.fleet = fleet;
    this.tallies = tallies;
    this.ticker = ticker;
  }

  void register(Meters meters) {
    meters.pulled(FleetMetric.WORKERS, this::states);
    perWorker(meters, FleetMetric.WORKER_IN_FLIGHT, Worker::inFlight);
    perWorker(meters, FleetMetric.WORKER_LIMIT, Worker::maxInFlight);
    perWorker(meters, FleetMetric.WORKER_HEALTHY, w -> flag(w.health().healthy()));
    perWorker(meters, FleetMetric.WORKER_BREAKER, FleetMetrics::breakerState);
    perWorker(meters, FleetMetric.WORKER_BREAKER_OPENINGS, w -> w.breaker().opened());
    meters.pulled(FleetMetric.EJECTIONS_REFUSED, sink -> sink.put(fleet.ejections().refused()));
    perWorker(meters, FleetMetric.WORKER_RESTING, w -> flag(w.restLeft(ticker.nanos()) > 0));
    perWorker(meters, FleetMetric.WORKER_STALLED, w -> flag(w.stalled()));
    perWorker(meters, FleetMetric.WORKER_ASLEEP, w -> flag(w.asleep()));
    perWorker(meters, FleetMetric.WORKER_STALLS, Worker::stalls);
    perWorker(meters, FleetMetric.WORKER_DESERTED, Worker::deserted);
    perWorker(meters, FleetMetric.WORKER_LAST_RESORTS, Worker::lastResorts);
    perWorker(meters, FleetMetric.WORKER_DRAINING, w -> flag(w.draining() || w.closing()));
    perWorker(meters, FleetMetric.WORKER_CORDONED, w -> flag(w.cordoned()));
    perWorker(meters, FleetMetric.WORKER_WEIGHT, Worker::weight);
    perWorker(meters, FleetMetric.WORKER_OTHERS, w -> w.capacity().others());
    perWorker(meters, FleetMetric.WORKER_KV_USE, w -> w.capacity().reported().kvUse());
    meters.pulled(FleetMetric.WORKER_REQUESTS, this::outcomes);
  }

  private void perWorker(Meters meters, Metric metric, ToDoubleFunction<Worker> value) {
    meters.pulled(
        metric,
        sink -> {
          for (Worker worker : fleet.snapshot().workers()) {
            sink.put(value.applyAsDouble(worker), worker.id());
          }
        });
  }

  private void states(Meters.Sink sink) {
    long now = ticker.nanos();
    int available = 0;
    int busy = 0;
    int out = 0;
    for (Worker worker : fleet.snapshot().workers()) {
      if (worker.eligible(now)) {
        available++;
      } else if (worker.merelyBusy(now)) {
        busy++;
      } else {
        out++;
      }
    }
    sink.put(available, "available");
    sink.put(busy, "busy");
    sink.put(out, "out");
  }

  private void outcomes(Meters.Sink sink) {
    for (Worker worker : fleet.snapshot().workers()) {
      WorkerTallies.WorkerTally tally = tallies.of(worker);
      sink.put(tally == null ? 0 : tally.succeeded(), worker.id(), "succeeded");
      sink.put(tally == null ? 0 : tally.failed(), worker.id(), "failed");
      sink.put(tally == null ? 0 : tally.ignored(), worker.id(), "ignored");
    }
  }

  /** The breaker's state as a number: 0 closed, 1 open, 2 half-open. */
  static double breakerState(Worker worker) {
    return switch (worker.breaker().state()) {
      case CLOSED -> 0;
      case OPEN -> 1;
      case HALF_OPEN -> 2;
    };
  }

  private static double flag(boolean set) {
    return set ? 1 : 0;
  }
}
