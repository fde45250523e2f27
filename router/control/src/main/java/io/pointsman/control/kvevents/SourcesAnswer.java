package io.pointsman.control.kvevents;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.ZmqAddress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Parses the engines' reports of their publishers. The report is an object with one member per
 * rank, or a list with ranks in its items, bare or as the member {@code sources}. It can also be
 * the whole configuration of vLLM or SGLang.
 */
final class SourcesAnswer {
  private static final JsonMapper JSON = new JsonMapper();

  /** SGLang's default endpoint. */
  private static final String DEFAULT_ENDPOINT = "tcp://*:5557";

  private SourcesAnswer() {}

  /**
   * The publishers in a response to {@code GET /kv_event_sources}, ordered by rank; empty if events
   * are disabled.
   *
   * @throws IOException if the response is malformed or describes an unsupported publisher
   */
  static List<SourceSpec> sources(byte[] body) throws IOException {
    JsonNode root = tree(body);
    List<SourceSpec> sources = new ArrayList<>();
    JsonNode list = root.isArray() ? root : root.path("sources");
    if (list.isArray()) {
      for (JsonNode each : list) {
        add(sources, each.path("data_parallel_rank").asInt(0), each, false);
      }
    } else {
      for (Map.Entry<String, JsonNode> each : root.properties()) {
        if (each.getKey().matches("[0-9]{1,4}")) {
          add(sources, Integer.parseInt(each.getKey()), each.getValue(), false);
        }
      }
    }
    return inOrder(sources);
  }

  /**
   * The publishers in an engine's configuration. In vLLM's {@code vllm_config.kv_events_config} the
   * endpoint is that of rank 0. With external or hybrid load balancing ({@code
   * data_parallel_external_lb}, {@code data_parallel_hybrid_lb}), the responding engine has only
   * its own ranks. SGLang reports its arguments: {@code kv_events_config}, a JSON text, and {@code
   * dp_size}.
   *
   * @throws IOException if the response is malformed or describes an unsupported publisher
   */
  static List<SourceSpec> configured(byte[] body) throws IOException {
    JsonNode root = tree(body);
    JsonNode config = root.path("vllm_config");
    JsonNode events = config.path("kv_events_config");
    List<SourceSpec> sources = new ArrayList<>();
    if (config.isMissingNode()) {
      return sglang(root);
    }
    if (!events.path("enable_kv_cache_events").asBoolean(false)) {
      return sources;
    }
    JsonNode parallel = config.path("parallel_config");
    boolean one = parallel.path("data_parallel_external_lb").asBoolean(false);
    boolean some = parallel.path("data_parallel_hybrid_lb").asBoolean(false);
    int first = one || some ? parallel.path("data_parallel_rank").asInt(0) : 0;
    String size = some ? "data_parallel_size_local" : "data_parallel_size";
    int ranks = one ? 1 : Math.clamp(parallel.path(size).asInt(1), 1, SourceSpec.MOST_RANKS);
    for (int i = 0; i < ranks; i++) {
      add(sources, first + i, events, true);
    }
    return inOrder(sources);
  }

  private static List<SourceSpec> sglang(JsonNode arguments) throws IOException {
    List<SourceSpec> sources = new ArrayList<>();
    JsonNode text = arguments.path("kv_events_config");
    // SGLang publishes nothing by default.
    if (text.isTextual()
        && JSON.readTree(text.asText()) instanceof ObjectNode events
        && events.hasNonNull("publisher")) {
      if (!events.hasNonNull("endpoint")) {
        events.put("endpoint", DEFAULT_ENDPOINT);
      }
      int ranks = Math.clamp(arguments.path("dp_size").asInt(1), 1, SourceSpec.MOST_RANKS);
      for (int rank = 0; rank < ranks; rank++) {
        add(sources, rank, events, true);
      }
    }
    return inOrder(sources);
  }

  private static JsonNode tree(byte[] body) throws IOException {
    JsonNode root = JSON.readTree(body);
    if (root == null || !root.isContainerNode()) {
      throw new IOException("neither an object nor a list");
    }
    return root;
  }

  private static List<SourceSpec> inOrder(List<SourceSpec> sources) throws IOException {
    sources.sort(Comparator.comparingInt(SourceSpec::rank));
    for (int i = 1; i < sources.size(); i++) {
      if (sources.get(i).rank() == sources.get(i - 1).rank()) {
        throw new IOException("rank " + sources.get(i).rank() + " twice");
      }
    }
    return sources;
  }

  private static void add(List<SourceSpec> to, int rank, JsonNode source, boolean offset)
      throws IOException {
    if (!source.path("enable_kv_cache_events").asBoolean(true)
        || source.path("publisher").asText("zmq").equals("null")) {
      return;
    }
    expect(source, "publisher", "zmq");
    expect(source, "encoding", "msgpack");
    expect(source, "schema_version", "1");
    try {
      ZmqAddress events = ZmqAddress.of(source.path("endpoint").asText(""));
      ZmqAddress replay = replay(source.path("replay_endpoint"));
      to.add(
          new SourceSpec(
              rank,
              false,
              offset ? events.ofRank(rank) : events,
              offset && replay != null ? replay.ofRank(rank) : replay,
              source.path("topic").asText(""),
              !bound(events)));
    } catch (IllegalArgumentException e) {
      throw new IOException("rank " + rank + ": " + e.getMessage(), e);
    }
  }

  /** True if an engine with this endpoint binds it. */
  private static boolean bound(ZmqAddress endpoint) {
    return endpoint.host().equals(ZmqAddress.ANY) || endpoint.host().contains("::");
  }

  private static @Nullable ZmqAddress replay(JsonNode endpoint) {
    String text = endpoint.asText("");
    return endpoint.isTextual() && !text.isEmpty() ? ZmqAddress.of(text) : null;
  }

  private static void expect(JsonNode source, String name, String value) throws IOException {
    JsonNode reported = source.path(name);
    if (!reported.isMissingNode() && !reported.isNull() && !reported.asText().equals(value)) {
      throw new IOException(name + ": " + reported.asText() + " (expected: " + value + ")");
    }
  }
}
