package io.pointsman.observe.metrics;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.observe.metrics.VllmRouterMetrics.Name;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.request.Endpoint;
import io.prometheus.metrics.core.datapoints.DistributionDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.List;

/** Requests at their end, under the names of vllm-router. All labels have few values. */
final class VllmRouterRequests {
  private static final Name EXHAUSTED =
      name(
          Metric.Kind.COUNTER,
          "retries_exhausted_total",
          "Requests that an engine failed after at least one retry, by route.",
          "route");
  private static final Name ERRORS =
      name(
          Metric.Kind.COUNTER,
          "request_errors_total",
          "Requests answered with 4xx or 5xx, by route. error_type: no_available_workers,"
              + " non_retryable_error.",
          "route",
          "error_type");
  private static final Name GENERATE =
      name(
          Metric.Kind.HISTOGRAM,
          "generate_duration_seconds",
          "Time to the head of answers with 2xx.");
  private static final Name EMBEDDINGS =
      name(
          Metric.Kind.HISTOGRAM,
          "embeddings_duration_seconds",
          "Time to the head of embedding answers with 2xx.");
  private static final Name EMBEDDING_ERRORS =
      name(
          Metric.Kind.COUNTER,
          "embeddings_errors_total",
          "Embedding requests answered with 4xx or 5xx. error_type is http_ and the status.",
          "error_type");
  private static final Name SPLIT =
      name(
          Metric.Kind.COUNTER,
          "pd_requests_total",
          "Requests that a decode worker answered, by route.",
          "route");
  private static final Name SPLIT_SECONDS =
      name(
          Metric.Kind.HISTOGRAM,
          "pd_request_duration_seconds",
          "Time to the head of the decode worker's answer, by route.",
          "route");

  static final List<Name> ALL =
      List.of(EXHAUSTED, ERRORS, GENERATE, EMBEDDINGS, EMBEDDING_ERRORS, SPLIT, SPLIT_SECONDS);

  private static final double[] SECONDS = {
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 45, 60, 90, 120, 180,
    240
  };
  private static final double NANOS = 1e9;

  private final Counter exhausted;
  private final Counter errors;
  private final DistributionDataPoint generate;
  private final DistributionDataPoint embeddings;
  private final Counter embeddingErrors;
  private final Counter split;
  private final Histogram splitSeconds;

  VllmRouterRequests(PrometheusRegistry registry) {
    exhausted = VllmRouterMetrics.counter(registry, EXHAUSTED);
    errors = VllmRouterMetrics.counter(registry, ERRORS);
    generate = VllmRouterMetrics.histogram(registry, GENERATE, SECONDS).labelValues();
    embeddings = VllmRouterMetrics.histogram(registry, EMBEDDINGS, SECONDS).labelValues();
    embeddingErrors = VllmRouterMetrics.counter(registry, EMBEDDING_ERRORS);
    split = VllmRouterMetrics.counter(registry, SPLIT);
    splitSeconds = VllmRouterMetrics.histogram(registry, SPLIT_SECONDS, SECONDS);
  }

  private static Name name(Metric.Kind kind, String stem, String meaning, String... labels) {
    return new Name(kind, stem, meaning, labels);
  }

  void ended(RequestReport report) {
    String route = VllmRouterMetrics.route(report.request().endpoint());
    Worker worker = report.worker();
    if (report.result().status() / 100 == 2) {
      observe(generate, report);
      if (report.request().endpoint() == Endpoint.EMBEDDINGS) {
        observe(embeddings, report);
      }
    } else if (report.result().status() >= 400 && !report.result().clientLeft()) {
      failed(report, route);
    }
    if (report.attempts() > 1 && report.result().blame() == Blame.UPSTREAM) {
      exhausted.labelValues(route).inc();
    }
    if (worker != null && worker.spec().role() == Role.DECODE) {
      split.labelValues(route).inc();
      observe(splitSeconds.labelValues(route), report);
    }
  }

  private void failed(RequestReport report, String route) {
    boolean nowhere = report.worker() == null && report.result().status() == 503;
    errors.labelValues(route, nowhere ? "no_available_workers" : "non_retryable_error").inc();
    if (report.request().endpoint() == Endpoint.EMBEDDINGS) {
      String status = StatusLabels.label(StatusLabels.index(report.result().status()));
      embeddingErrors.labelValues("http_" + status).inc();
    }
  }

  private static void observe(DistributionDataPoint series, RequestReport report) {
    if (report.times().head() != RequestReport.NEVER) {
      series.observe(report.times().head() / NANOS);
    }
  }
}
