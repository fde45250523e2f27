package io.pointsman.app.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class MetricsPageTest {
  private static final Path PAGE =
      Path.of(System.getProperty("pointsman.root", ".."), "docs", "reference", "metrics.md");

  @Test
  void thePageMatchesTheMetrics() throws IOException {
    if (Boolean.getBoolean("pointsman.write-docs")) {
      Files.createDirectories(PAGE.toAbsolutePath().getParent());
      Files.writeString(PAGE, MetricsPage.render());
    }
    assertThat(PAGE).hasContent(MetricsPage.render());
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
