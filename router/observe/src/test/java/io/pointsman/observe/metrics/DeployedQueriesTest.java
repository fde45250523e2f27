package io.pointsman.observe.metrics;

import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The dashboard, the alert rules and the chart ask for metrics and labels that exist. */
class DeployedQueriesTest {
  private static final Path DEPLOY = Path.of(System.getProperty("pointsman.root", ".."), "deploy");
  private static final String ALERTS = "prometheus/pointsman-alerts.yaml";

  private static final Pattern NAME =
      Pattern.compile("\\b((?:pointsman|process|jvm)_[a-z_]+)\\b(?:\\{([^}]*)})?");
  private static final Pattern LABEL = Pattern.compile("([a-z]+) *(?:=~|!~|!=|=)\\\\?\"");
  private static final Pattern ALERT = Pattern.compile("(?m)- alert: (\\w+)$");

  /** Labels of Prometheus itself. */
  private static final Set<String> SCRAPED = Set.of("job", "instance", "le");

  private static final Map<String, Metric> BY_NAME =
      Metric.all().stream().collect(toMap(Metric::metricName, metric -> metric));

  private static String text(String file) throws IOException {
    return Files.readString(DEPLOY.resolve(file));
  }

  /** Problems of the queries in a text. */
  private static List<String> problems(String text) {
    List<String> problems = new ArrayList<>();
    for (MatchResult found : NAME.matcher(text).results().toList()) {
      Metric metric = named(found.group(1));
      if (metric == null) {
        problems.add(found.group(1) + ": no such metric");
        continue;
      }
      String matchers = found.group(2) == null ? "" : found.group(2);
      for (MatchResult label : LABEL.matcher(matchers).results().toList()) {
        if (!metric.labels().contains(label.group(1)) && !SCRAPED.contains(label.group(1))) {
          problems.add(found.group(1) + ": no label " + label.group(1));
        }
      }
    }
    return problems;
  }

  /** The metric that has a series of this name; null if there is none. */
  private static @Nullable Metric named(String series) {
    Metric metric = BY_NAME.get(series);
    if (metric != null) {
      return metric;
    }
    Metric histogram = BY_NAME.get(series.replaceFirst("_(bucket|sum|count)$", ""));
    return histogram != null && histogram.kind() == Metric.Kind.HISTOGRAM ? histogram : null;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ALERTS,
        "prometheus/pointsman-alerts-test.yaml",
        "grafana/pointsman.json",
        "helm/pointsman/examples/keda-engines.yaml"
      })
  void everyMetricAndLabelExists(String file) throws IOException {
    assertThat(text(file)).contains("pointsman_");
    assertThat(problems(text(file))).isEmpty();
  }

  @Test
  void aWrongNameOrLabelIsFound() {
    assertThat(problems("rate(pointsman_requests_totals[1m]) + pointsman_workers{stat=\"x\"}"))
        .containsExactly(
            "pointsman_requests_totals: no such metric", "pointsman_workers: no label stat");
    assertThat(problems("pointsman_workers_sum"))
        .containsExactly("pointsman_workers_sum: no such metric");
    assertThat(problems("rate(pointsman_request_duration_seconds_bucket{le=\"1\"}[1m])")).isEmpty();
  }

  @Test
  void everyAlertHasATest() throws IOException {
    String tests = text("prometheus/pointsman-alerts-test.yaml");
    List<String> alerts =
        ALERT.matcher(text(ALERTS)).results().map(found -> found.group(1)).toList();
    assertThat(alerts).hasSizeGreaterThan(10);
    assertThat(alerts)
        .allSatisfy(alert -> assertThat(tests).contains("alertname: " + alert + "\n"));
  }

  @Test
  void theDashboardIsJsonWithoutTwoPanelsOfOneId() throws IOException {
    JsonNode panels = new ObjectMapper().readTree(text("grafana/pointsman.json")).get("panels");
    List<Integer> ids = new ArrayList<>();
    panels.forEach(panel -> ids.add(panel.get("id").asInt()));
    assertThat(ids).hasSizeGreaterThan(20).doesNotHaveDuplicates();
  }
}
