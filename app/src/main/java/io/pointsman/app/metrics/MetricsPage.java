package io.pointsman.app.metrics;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Writes {@code docs/reference/metrics.md} from the lists of metrics, so that the two cannot
 * differ.
 */
final class MetricsPage {
  private MetricsPage() {}

  /** The page as Markdown. */
  static String render() {
    StringBuilder page = new StringBuilder();
    page.append(
        """
        # Metrics

        <!-- Generated from the lists of metrics in app/metrics by MetricsPageTest; do not edit.
             To write it anew:
             mvn -pl app -am test -Dtest=MetricsPageTest -Dsurefire.failIfNoSpecifiedTests=false -Dpointsman.write-docs=true -->

        Served on a listener of their own, `http://127.0.0.1:29000/metrics` by default
        (`metrics.host`, `metrics.port`), in Prometheus' text format, or in OpenMetrics or protobuf
        for a scraper that asks for it. `GET /health` there answers `OK`.

        Every label has a bounded set of values: `model` is a model that the fleet serves (the first
        64 of them), empty for a request that names none, or `other`; a worker's series end when it
        leaves the fleet. Counting a request allocates nothing; what can be read instead of counted
        is read from the fleet's newest snapshot when it is scraped.

        | Name | Type | Labels | Unit | Meaning |
        |---|---|---|---|---|
        """);
    for (Metric metric : Metric.all()) {
      row(page, metric.metricName(), metric.kind(), metric.labels(), metric.unit());
      page.append(metric.meaning()).append(" |\n");
    }
    page.append(
        """

        ## Names of vllm-router

        `./pointsman vllm-router` offers these too (`--compat-metrics off` leaves them out), for
        dashboards and alerts that exist. `worker` is the worker's URL; workers of one URL are one
        series. [vllm-router.md](../migrate/vllm-router.md#metrics) names what is missing.

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

        `./pointsman production-stack` offers these too (`metrics.like-production-stack`), and the
        whole page by `GET /metrics` on the port of the clients. `server` is the engine's URL.
        [production-stack.md](../migrate/production-stack.md#metrics) names what is missing.

        | Name | Type | Labels | Meaning |
        |---|---|---|---|
        """);
    for (VllmRouterMetrics.Name name : StackMetrics.ALL) {
      row(page, name.metricName(), name.kind(), name.labels(), null);
      page.append(name.meaning()).append(" |\n");
    }
    return page.toString();
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
