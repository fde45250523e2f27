package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.CacheAnnouncer;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.schedule.EngineLimits;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Information about the engine: models, health, versions, configuration, load. */
final class InfoApi {
  private static final String VERSION = "0.30.0+pointsman.sim";

  private final EngineCore engine;
  private final long started;

  InfoApi(EngineCore engine) {
    this.engine = engine;
    this.started = engine.epochSeconds();
  }

  void models(SimExchange exchange) {
    ObjectNode root = SimJson.object().put("object", "list");
    ArrayNode data = root.putArray("data");
    for (String model : engine.profile().models()) {
      ObjectNode entry = data.addObject();
      entry.put("id", model).put("object", "model").put("created", started);
      entry.put("owned_by", "pointsman-sim").put("root", model);
      boolean base = model.equals(engine.profile().model());
      entry.put("parent", base ? null : engine.profile().model());
      entry.put("max_model_len", engine.scheduler().limits().longestRequest());
      entry.putArray("permission");
    }
    exchange.respond(200, root);
  }

  void health(SimExchange exchange) {
    long millis = engine.driver().now() / 1_000_000;
    int status = engine.died() || engine.failures().healthIsDown(millis) ? 503 : 200;
    exchange.respond(status, "", new byte[0], Map.of());
  }

  void version(SimExchange exchange) {
    exchange.respond(200, SimJson.object().put("version", VERSION));
  }

  void serverLoad(SimExchange exchange) {
    exchange.respond(200, SimJson.object().put("server_load", engine.counters().inFlight()));
  }

  void load(SimExchange exchange) {
    exchange.respond(200, SimJson.object().put("load", engine.counters().inFlight()));
  }

  /** Per-rank loads in SGLang's form; there is one rank. */
  void loads(SimExchange exchange) {
    int running = engine.scheduler().running();
    int waiting = engine.scheduler().waiting();
    EngineLimits limits = engine.scheduler().limits();
    int used = engine.scheduler().cache().pinnedBlocks();
    double usage = used / (double) limits.kvBlocks();
    ObjectNode root = SimJson.object();
    root.put("timestamp", engine.epochSeconds()).put("version", VERSION);
    root.put("dp_rank_count", 1);
    ObjectNode rank = root.putArray("loads").addObject();
    rank.put("dp_rank", 0);
    rank.put("num_running_reqs", running).put("num_waiting_reqs", waiting);
    rank.put("num_total_reqs", running + waiting);
    rank.put("num_used_tokens", (long) used * limits.blockSize());
    rank.put("max_total_num_tokens", limits.capacityTokens());
    rank.put("max_running_requests", limits.maxRunning());
    rank.put("token_usage", usage);
    ObjectNode all = root.putObject("aggregate");
    all.put("total_running_reqs", running).put("total_waiting_reqs", waiting);
    all.put("total_reqs", running + waiting).put("avg_token_usage", usage);
    exchange.respond(200, root);
  }

  void modelInfo(SimExchange exchange) {
    String model = engine.profile().model();
    ObjectNode root = SimJson.object().put("model_path", model).put("tokenizer_path", model);
    exchange.respond(200, root.put("is_generation", true));
  }

  void serverInfo(SimExchange exchange) {
    EngineLimits limits = engine.scheduler().limits();
    String model = engine.profile().model();
    ObjectNode root = SimJson.object().put("model_path", model).put("model_id", model);
    root.put("served_model_name", model).put("version", VERSION);
    root.put("instance_id", engine.id()).put("status", "ready");
    root.put("kv_block_size", limits.blockSize()).put("page_size", limits.blockSize());
    root.put("max_total_num_tokens", limits.capacityTokens());
    root.put("max_running_requests", limits.maxRunning());
    root.put("max_model_len", limits.longestRequest()).put("dp_size", 1);
    CacheAnnouncer announcer = engine.announcer();
    if (announcer != null && announcer.place().amongArguments()) {
      ObjectNode events = SimJson.object();
      report(events, announcer.place());
      root.put("kv_events_config", events.toString());
    }
    exchange.respond(200, root);
  }

  /**
   * vLLM's configuration, as text unless {@code config_format=json} is requested. SGLang's
   * arguments instead, if events are published in SGLang's form.
   */
  void vllmConfig(SimExchange exchange) {
    CacheAnnouncer announcer = engine.announcer();
    if (announcer != null && announcer.place().amongArguments()) {
      serverInfo(exchange);
      return;
    }
    EngineLimits limits = engine.scheduler().limits();
    ObjectNode config = SimJson.object();
    ObjectNode model = config.putObject("model_config").put("model", engine.profile().model());
    model.put("max_model_len", limits.longestRequest());
    ObjectNode cache = config.putObject("cache_config").put("block_size", limits.blockSize());
    cache
        .put("num_gpu_blocks", limits.kvBlocks())
        .put("enable_prefix_caching", limits.rules().prefixCache());
    ObjectNode scheduler = config.putObject("scheduler_config");
    scheduler.put("max_num_seqs", limits.maxRunning());
    scheduler.put("max_num_batched_tokens", limits.maxBatchedTokens());
    config.putObject("parallel_config").put("data_parallel_size", 1);
    if (announcer != null) {
      report(config.putObject("kv_events_config"), announcer.place());
    }
    ObjectNode root = SimJson.object();
    if (exchange.parameters().getOrDefault("config_format", List.of("text")).contains("json")) {
      root.set("vllm_config", config);
    } else {
      root.put("vllm_config", config.toString());
    }
    exchange.respond(200, root);
  }

  /** The endpoints of KV events, by rank. */
  void eventSources(SimExchange exchange) {
    ObjectNode root = SimJson.object();
    CacheAnnouncer announcer = engine.announcer();
    if (announcer == null || announcer.place().amongArguments()) {
      throw RequestError.notFound("No such route.", null);
    }
    CacheAnnouncer.Place place = announcer.place();
    ObjectNode source = root.putObject(Integer.toString(place.rank()));
    report(source, place);
    source.put("encoding", "msgpack").put("schema_version", 1);
    exchange.respond(200, root);
  }

  private static void report(ObjectNode source, CacheAnnouncer.Place place) {
    source.put("publisher", "zmq");
    if (!place.amongArguments()) {
      source.put("enable_kv_cache_events", true);
    }
    source.put("endpoint", place.endpoint()).put("replay_endpoint", place.replayEndpoint());
    source.put("topic", place.topic()).put("buffer_steps", place.bufferedBatches());
  }

  /** Drops all cached blocks that no running request uses. */
  void flushCache(SimExchange exchange) {
    engine.scheduler().cache().forgetIdle();
    byte[] text = "Cache flushed.\n".getBytes(StandardCharsets.UTF_8);
    exchange.respond(200, "text/plain; charset=utf-8", text, Map.of());
  }

  /** Drops unused cached blocks. */
  void resetPrefixCache(SimExchange exchange) {
    engine.scheduler().cache().forgetIdle();
    exchange.respond(200, SimJson.object().put("success", true));
  }
}
