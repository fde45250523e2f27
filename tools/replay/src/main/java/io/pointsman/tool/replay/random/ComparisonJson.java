package io.pointsman.tool.replay.random;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.replay.random.PolicyComparison.Best;
import io.pointsman.tool.replay.random.draw.Draw;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Locale;

/** Comparisons as a JSON list, one object for each workload. */
final class ComparisonJson {
  private ComparisonJson() {}

  static String text(List<PolicyComparison> rows) {
    ObjectMapper mapper = new ObjectMapper();
    ArrayNode list = mapper.createArrayNode();
    rows.forEach(row -> write(row, list.addObject()));
    try {
      return mapper.writerWithDefaultPrettyPrinter().writeValueAsString(list);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void write(PolicyComparison row, ObjectNode to) {
    Draw draw = row.draw();
    to.put("seed", draw.seed());
    to.put("family", draw.family().label());
    to.put("drawn", draw.describe());
    to.put("arrivals", draw.arrivals().label());
    to.put("disturbance", draw.disturbance().label());
    to.put("engine", draw.engine().name());
    to.put("workers", draw.workers());
    to.put("kv_tokens", draw.kvTokens());
    to.put("block_tokens", draw.blockTokens());
    to.put("load", draw.load());
    to.put("rate", row.rate());
    to.put("subject", row.subject());
    for (ComparedTime metric : ComparedTime.values()) {
      Best best = row.best(metric);
      if (best != null) {
        to.putObject(metric.name().toLowerCase(Locale.ROOT))
            .put("best", best.policy())
            .put("best_ms", best.millis())
            .put("ratio", row.ratio(metric));
      }
    }
    if (!Double.isNaN(row.ratioToRoundRobin())) {
      to.put("ratio_to_round_robin", row.ratioToRoundRobin());
    }
    ArrayNode policies = to.putArray("policies");
    row.measures().forEach((policy, measure) -> write(policy, measure, policies.addObject()));
  }

  private static void write(String policy, Measure measure, ObjectNode to) {
    to.put("policy", policy);
    to.put("ttft_mean_ms", measure.ttftMean());
    to.put("ttft_p99_ms", measure.ttftP99());
    to.put("e2e_mean_ms", measure.endToEndMean());
    to.put("hit", measure.hit());
    to.put("served", measure.served());
    to.put("left", measure.left());
  }
}
