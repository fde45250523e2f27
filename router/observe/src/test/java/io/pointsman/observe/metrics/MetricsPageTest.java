package io.pointsman.observe.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class MetricsPageTest {
  @Test
  void thePageMatchesTheMetrics() throws IOException {
    new GeneratedPage("reference/metrics.md").assertIs(MetricsPage.render());
  }

  @Test
  void everyNameFollowsTheConventions() {
    for (Metric metric : Metric.all()) {
      assertThat(metric.metricName()).matches("[a-z][a-z0-9_]*");
      assertThat(metric.metricName().endsWith("_total"))
          .as(metric.metricName())
          .isEqualTo(metric.kind() == Metric.Kind.COUNTER);
    }
  }
}
