package io.pointsman.observe.metrics;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.observe.metrics.VllmRouterMetrics.Name;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Requests by engine and model, for the names of the production stack. The series of an engine end
 * when it leaves the fleet. Thread-safe.
 */
final class StackRequests {
  static final Name INPUT =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:input_tokens_total",
          "Prompt tokens that the engine reported.",
          List.of("server", "model"));
  static final Name OUTPUT =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:output_tokens_total",
          "Tokens of answers that the engine reported.",
          List.of("server", "model"));
  static final Name ERRORS =
      new Name(
          Metric.Kind.COUNTER,
          "vllm:request_errors_total",
          "Failed requests that the engine caused. error_type is the status, or cut.",
          List.of("server", "model", "error_type"));
  static final Name LATENCY =
      new Name(
          Metric.Kind.HISTOGRAM,
          "vllm:request_latency_seconds",
          "Time from the head of the request to its end. status: success, error.",
          List.of("server", "model", "status"));

  private static final double[] LATENCY_SECONDS = {
    0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120
  };
  private static final double NANOS = 1e9;
  private static final String CUT = "cut";

  private record SeriesKey(String server, String model) {}

  /** Sums of one engine. */
  static final class Sums {
    private final LongAdder requests = new LongAdder();
    private final LongAdder nanos = new LongAdder();
    private final LongAdder prompt = new LongAdder();
    private final LongAdder cached = new LongAdder();

    long requests() {
      return requests.sum();
    }

    double seconds() {
      return nanos.sum() / NANOS;
    }

    long promptTokens() {
      return prompt.sum();
    }

    long cachedTokens() {
      return cached.sum();
    }
  }

  /** The series of one engine and model. */
  private final class Series {
    private final SeriesKey key;
    private final CounterDataPoint in;
    private final CounterDataPoint out;
    private final DistributionDataPoint good;
    private final DistributionDataPoint bad;
    private final Map<String, CounterDataPoint> errorTypes = new ConcurrentHashMap<>();

    Series(SeriesKey key) {
      this.key = key;
      in = input.labelValues(key.server, key.model);
      out = output.labelValues(key.server, key.model);
      good = latency.labelValues(key.server, key.model, "success");
      bad = latency.labelValues(key.server, key.model, "error");
    }

    private void ended(RequestReport report) {
      in.inc(Math.max(0, report.traffic().usage().promptTokens()));
      out.inc(Math.max(0, report.traffic().usage().completionTokens()));
      boolean failed = report.result().status() >= 400 || report.result().blame() == Blame.UPSTREAM;
      (failed ? bad : good).observe(report.times().end() / NANOS);
      if (report.result().blame() == Blame.UPSTREAM) {
        String type =
            report.result().status() < 400
                ? CUT
                : StatusLabels.label(StatusLabels.index(report.result().status()));
        errorTypes.computeIfAbsent(type, t -> errors.labelValues(key.server, key.model, t)).inc();
      }
    }

    private void remove() {
      input.remove(key.server, key.model);
      output.remove(key.server, key.model);
      latency.remove(key.server, key.model, "success");
      latency.remove(key.server, key.model, "error");
      errorTypes.keySet().forEach(type -> errors.remove(key.server, key.model, type));
    }
  }

  private final ModelLabels models;
  private final Counter input;
  private final Counter output;
  private final Counter errors;
  private final Histogram latency;
  private final Map<SeriesKey, Series> series = new ConcurrentHashMap<>();
  private final Map<String, Sums> sums = new ConcurrentHashMap<>();

  StackRequests(PrometheusRegistry registry, ModelLabels models) {
    this.models = models;
    input = VllmRouterMetrics.counter(registry, INPUT);
    output = VllmRouterMetrics.counter(registry, OUTPUT);
    errors = VllmRouterMetrics.counter(registry, ERRORS);
    latency = VllmRouterMetrics.histogram(registry, LATENCY, LATENCY_SECONDS);
  }

  /** Counts a request that was sent to an engine. */
  void ended(RequestReport report) {
    Worker worker = report.worker();
    if (worker == null || worker.left() || report.times().end() == RequestReport.NEVER) {
      return;
    }
    String server = VllmRouterMetrics.label(worker);
    SeriesKey key = new SeriesKey(server, models.label(models.index(report.model())));
    Series found = series.get(key);
    if (found == null) {
      found = requireNonNull(series.computeIfAbsent(key, Series::new), "series");
    }
    found.ended(report);
    Sums of = requireNonNull(sums.computeIfAbsent(server, _ -> new Sums()), "sums");
    of.requests.increment();
    of.nanos.add(report.times().end());
    of.prompt.add(Math.max(0, report.traffic().usage().promptTokens()));
    of.cached.add(Math.max(0, report.traffic().usage().cachedTokens()));
  }

  /** The sums of an engine; null before its first request. */
  @Nullable Sums of(String server) {
    return sums.get(server);
  }

  /** Ends the series of engines that have left. */
  void changed(FleetSnapshot now) {
    Set<String> present = new HashSet<>();
    now.workers().forEach(worker -> present.add(VllmRouterMetrics.label(worker)));
    sums.keySet().retainAll(present);
    List<Series> gone =
        series.values().stream().filter(each -> !present.contains(each.key.server)).toList();
    series.values().removeAll(gone);
    gone.forEach(Series::remove);
  }
}
