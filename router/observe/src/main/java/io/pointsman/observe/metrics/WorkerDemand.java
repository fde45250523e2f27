package io.pointsman.observe.metrics;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Requests that find no worker, by model: the waiting ones, and all since the start. An autoscaler
 * adds workers by these. Thread-safe.
 */
final class WorkerDemand {
  private final ModelLabels models;
  private final LongAdder[] found;

  /**
   * Waiting requests by the name of their model, the empty string for none. A model can get a label
   * while requests wait for it, so the label is chosen when the value is read. As many entries as
   * requests wait, at most.
   */
  private final ConcurrentHashMap<String, Integer> waiting = new ConcurrentHashMap<>();

  WorkerDemand(Meters meters, ModelLabels models) {
    this.models = models;
    found =
        IntStream.range(0, models.size()).mapToObj(_ -> new LongAdder()).toArray(LongAdder[]::new);
    meters.pulled(RequestMetric.WITHOUT_WORKER, sink -> put(index -> found[index].sum(), sink));
    meters.pulled(
        RequestMetric.AWAITING_WORKER,
        sink -> {
          Map<Integer, Long> now = waitingByIndex();
          put(index -> now.getOrDefault(index, 0L), sink);
        });
  }

  private void put(IntToLongFunction values, Meters.Sink sink) {
    Map<String, Long> byLabel = new HashMap<>();
    for (int index : models.named()) {
      // A model can have the name of the common label.
      byLabel.merge(models.label(index), values.applyAsLong(index), Long::sum);
    }
    byLabel.put(ModelLabels.NONE, values.applyAsLong(models.index(null)));
    byLabel.forEach((label, value) -> sink.put(value, label));
  }

  /** Counts a request without a worker; to be called once per request. */
  void withoutWorker(@Nullable String model) {
    found[models.index(model)].increment();
  }

  /** Counts a request that begins or ends to wait for a worker. */
  void awaits(@Nullable String model, boolean begins) {
    String name = model == null ? ModelLabels.NONE : model;
    waiting.merge(name, begins ? 1 : -1, (a, b) -> a + b == 0 ? null : a + b);
  }

  /** Number of requests that wait for a worker, by the index of the model's label. */
  Map<Integer, Long> waitingByIndex() {
    Map<Integer, Long> byIndex = new HashMap<>();
    waiting.forEach(
        (name, count) ->
            byIndex.merge(models.index(name.isEmpty() ? null : name), (long) count, Long::sum));
    return byIndex;
  }
}
