package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.it.split.SplitProtocolsTest.Route;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Reports of prompt tokens in responses: all those of the engine that computed the prompt, in the
 * format of each route.
 */
@Tag("full")
class SplitUsageTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  private static SplitCluster.Setup setup() {
    return SplitCluster.of("nixl", KvConnector.NIXL).direct();
  }

  /** The second request finds its prompt in prefill's cache; its decode worker never had it. */
  @ParameterizedTest
  @EnumSource
  void usageIsThatOfTheEngineThatComputedThePrompt(Route route) throws IOException {
    for (boolean stream : new boolean[] {false, true}) {
      try (SplitCluster cluster =
          setup().engines(1, 2).set("decode-policy", "round_robin").start()) {
        String body = body(route, stream);
        List<JsonNode> cold = split(cluster, route, body);
        assertThat(cold).as("stream " + stream).isNotEmpty();
        assertThat(cold).allSatisfy(usage -> assertThat(cached(usage)).isZero());
        List<JsonNode> warm = split(cluster, route, body);
        assertThat(cluster.decodes).allMatch(each -> each.requestLog().size() == 1);

        SimEngine prefill = cluster.prefills.getFirst();
        List<JsonNode> alone = usages(RawClient.call(prefill.port(), "POST", route.path, body));
        // At the start of a message an engine reports no cached tokens; the router knows them.
        assertThat(cached(alone.getLast())).isPositive();
        assertThat(warm)
            .hasSameSizeAs(alone)
            .allSatisfy(usage -> assertThat(cached(usage)).isPositive());
        assertThat(warm.getLast()).as("stream " + stream).isEqualTo(alone.getLast());
      }
    }
  }

  private static List<JsonNode> split(SplitCluster cluster, Route route, String body)
      throws IOException {
    HttpAnswer answer = cluster.post(route.path, body);
    assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    assertThat(answer.complete()).isTrue();
    assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    return usages(answer);
  }

  private static String body(Route route, boolean stream) {
    String body = route.body(stream);
    boolean asks = stream && (route == Route.CHAT || route == Route.COMPLETIONS);
    return asks ? body.replaceFirst("}$", ",\"stream_options\":{\"include_usage\":true}}") : body;
  }

  /** All token usages in a response, in order. */
  private static List<JsonNode> usages(HttpAnswer answer) throws IOException {
    String text = answer.text();
    List<JsonNode> usages = new ArrayList<>();
    for (String line : text.startsWith("{") ? List.of(text) : text.lines().toList()) {
      String json = line.replaceFirst("^data: ", "");
      if (json.startsWith("{")) {
        JsonNode event = JSON.readTree(json);
        usages.addAll(event.findValues("usage"));
        usages.addAll(event.findValues("meta_info"));
      }
    }
    usages.removeIf(JsonNode::isNull);
    usages.forEach(usage -> ((ObjectNode) usage).remove(List.of("id", "e2e_latency")));
    return usages;
  }

  /** The cached tokens in a usage. */
  private static int cached(JsonNode usage) {
    for (String name : List.of("cached_tokens", "cache_read_input_tokens")) {
      JsonNode figure = usage.findValue(name);
      if (figure != null) {
        return figure.asInt();
      }
    }
    throw new AssertionError("no figure: " + usage);
  }
}
