package io.pointsman.observe.metrics;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Generates {@code docs/reference/metrics.md} from the lists of metrics. */
final class MetricsPage {
  private MetricsPage() {}

  /** The page in Markdown. */
  static String render() {
    StringBuilder page = new StringBuilder();
    page.append(
        """
        # Metrics

        <!-- Generated from the lists of metrics in observe/metrics by MetricsPageTest; do not edit.
             CONTRIBUTING.md contains the command that rewrites it. -->

        The router serves metrics on a port of their own, by default at
        `http://127.0.0.1:29000/metrics` (`metrics.host`, `metrics.port`). The format is Prometheus
        text; a scraper can ask for OpenMetrics or protobuf. `GET /health` on this port answers `OK`.

        Every label has a bounded set of values. `model` is one of the first 64 models of the fleet,
        empty if the request names none, or `other`. The series of a worker end when it leaves the
        fleet.

        A reload can begin and end the page (`metrics.enabled`). The router counts all the time, so a
        scraper sees a gap, and counters that continue.

        | Name | Type | Labels | Unit | Meaning |
        |---|---|---|---|---|
        """);
    for (Metric metric : Metric.all()) {
      row(page, metric.metricName(), metric.kind(), metric.labels(), metric.unit());
      page.append(linked(metric.meaning())).append(" |\n");
    }
    page.append(
        """

        ## Names of vllm-router

        `./pointsman vllm-router` also provides these metrics, for existing dashboards and alerts;
        `--compat-metrics off` disables them. `serve` provides them with
        `metrics.vllm-router-names: true`. `worker` is the worker's URL; workers with the same URL
        share a series. A reload can begin and end these names. `vllm_router_request_errors_total`,
        `_retries_exhausted_total`, `_embeddings_errors_total`, `_pd_requests_total` and the
        histograms then begin at 0, as after a restart.
        [vllm-router.md](../migrate/vllm-router.md#metrics) lists missing metrics.

        | Name | Type | Labels | Meaning |
        |---|---|---|---|
        """);
    for (VllmRouterMetrics.Name name : VllmRouterMetrics.ALL) {
      row(page, name.metricName(), name.kind(), name.labels(), null);
      page.append(name.meaning()).append(" |\n");
    }
    page.append(
        """

        ## Names of the production stack

        `./pointsman production-stack` also provides these metrics
        (`metrics.like-production-stack`, which `serve` takes too), and serves all metrics with
        `GET /metrics` on the client port. `server` is the engine's URL. The series of an engine end
        when it leaves the fleet. A reload can begin and end these names. Tokens, errors and latencies
        of engines then begin at 0, as after a restart.
        [production-stack.md](../migrate/production-stack.md#metrics) lists missing metrics.

        | Name | Type | Labels | Meaning |
        |---|---|---|---|
        """);
    for (VllmRouterMetrics.Name name : StackMetrics.ALL) {
      row(page, name.metricName(), name.kind(), name.labels(), null);
      page.append(name.meaning()).append(" |\n");
    }
    return page.toString();
  }

  /** Makes links of the names of pages in the help of a metric. */
  private static String linked(String meaning) {
    return meaning.replaceAll("docs/([a-z-]+\\.md)", "[$1](../$1)");
  }

  private static void row(
      StringBuilder page,
      String name,
      Metric.Kind kind,
      List<String> labels,
      @Nullable String unit) {
    page.append("| `").append(name).append("` | ");
    page.append(kind.name().toLowerCase(Locale.ROOT)).append(" | ");
    page.append(labels.isEmpty() ? "" : "`" + String.join("`, `", labels) + "`").append(" | ");
    if (unit != null) {
      page.append(unit).append(" | ");
    }
  }
}
