package io.pointsman.observe.metrics;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Requests that find no worker, by model: those that wait, and all of them since the start. An
 * autoscaler adds workers by these. Thread-safe.
 */
final class WorkerDemand {
  private final ModelLabels models;
  private final LongAdder[] found;
  private final LongAdder[] waiting;

  WorkerDemand(Meters meters, ModelLabels models) {
    this.models = models;
    found = adders(models.size());
    waiting = adders(models.size());
    meters.pulled(RequestMetric.WITHOUT_WORKER, sink -> put(found, sink));
    meters.pulled(RequestMetric.AWAITING_WORKER, sink -> put(waiting, sink));
  }

  private static LongAdder[] adders(int count) {
    return IntStream.range(0, count).mapToObj(_ -> new LongAdder()).toArray(LongAdder[]::new);
  }

  private void put(LongAdder[] values, Meters.Sink sink) {
    Map<String, Long> byLabel = new HashMap<>();
    for (int index : models.named()) {
      // A model can have the name of the common label.
      byLabel.merge(models.label(index), values[index].sum(), Long::sum);
    }
    byLabel.put(ModelLabels.NONE, values[models.index(null)].sum());
    byLabel.forEach((label, value) -> sink.put(value, label));
  }

  /** Counts a request without a worker; to be called once per request. */
  void withoutWorker(@Nullable String model) {
    found[models.index(model)].increment();
  }

  /** Counts a request that begins or ends to wait for a worker. */
  void awaits(@Nullable String model, boolean begins) {
    waiting[models.index(model)].add(begins ? 1 : -1);
  }

  /** Number of requests that wait for a worker, by the index of the model's label. */
  long waiting(int index) {
    return waiting[index].sum();
  }
}
