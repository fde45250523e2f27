package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.link.KvNode;
import io.pointsman.tool.sim.live.CacheAnnouncer;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.EngineState;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code /sim/...}: the engine's actual state and its failures. */
final class AdminApi {
  private final EngineCore engine;
  private final @Nullable KvNode node;

  AdminApi(EngineCore engine, @Nullable KvNode node) {
    this.engine = engine;
    this.node = node;
  }

  void state(SimExchange exchange) {
    EngineState state = engine.state();
    ObjectNode root = SimJson.object().put("id", state.id());
    EngineState.Requests requests = state.requests();
    root.put("received", requests.received()).put("served", requests.served());
    root.put("failed", requests.failed()).put("in_flight", requests.inFlight());
    root.put("max_in_flight", requests.maxInFlight());
    EngineState.Sequences sequences = state.sequences();
    root.put("running", sequences.running()).put("queued", sequences.waiting());
    root.put("max_running", sequences.maxRunning()).put("max_queued", sequences.maxWaiting());
    root.put("sequences_finished", sequences.finished());
    root.put("sequences_aborted", sequences.aborted());
    root.put("aborted_total", state.abortedInAll()).put("rejected_total", state.rejectedInAll());
    ObjectNode aborted = root.putObject("aborted");
    state.aborted().forEach(aborted::put);
    ObjectNode rejected = root.putObject("rejected");
    state.rejected().forEach(rejected::put);
    EngineState.Tokens tokens = state.tokens();
    root.putObject("cache")
        .put("queries", tokens.cacheQueries())
        .put("hits", tokens.cacheHits())
        .put("hit_rate", tokens.hitRate());
    root.put("generated_tokens", tokens.generated());
    root.putObject("kv")
        .put("capacity_blocks", state.kv().capacity())
        .put("pinned_blocks", state.kv().pinned())
        .put("idle_blocks", state.kv().idle());
    if (node != null) {
      root.set("kv_transfer", KvApi.document(node.state()));
    }
    exchange.respond(200, root);
  }

  void resetCounters(SimExchange exchange) {
    engine.resetCounters();
    if (node != null) {
      node.resetCounters();
    }
    exchange.respond(200, SimJson.object().put("reset", true));
  }

  /** Sets the faults of KV events; omitted members are zero. */
  void events(SimExchange exchange) {
    CacheAnnouncer announcer = engine.announcer();
    if (announcer == null) {
      throw RequestError.badRequest("kv-events: off (expected: --kv-events)", null);
    }
    JsonNode body = exchange.json();
    try {
      announcer.faults(
          body.path("loss").asDouble(0),
          body.path("delay_ms").asLong(0),
          body.path("reorder").asDouble(0),
          body.path("replayed").asInt(0));
    } catch (IllegalArgumentException e) {
      throw RequestError.badRequest(String.valueOf(e.getMessage()), null);
    }
    if (body.path("restart").asBoolean(false)) {
      announcer.restart();
    }
    exchange.respond(200, SimJson.object().put("batches", announcer.batches()));
  }

  void listFailures(SimExchange exchange) {
    ArrayNode list = SimJson.array();
    engine.failures().active().forEach(active -> list.add(FailureJson.write(active)));
    exchange.respond(200, list);
  }

  void addFailures(SimExchange exchange) {
    List<ScheduledFault> failures = FailureJson.read(exchange.json());
    ArrayNode ids = SimJson.array();
    try {
      failures.forEach(failure -> ids.add(engine.failures().add(failure)));
    } catch (IllegalStateException e) {
      throw RequestError.badRequest(String.valueOf(e.getMessage()), null);
    }
    ObjectNode root = SimJson.object();
    root.set("ids", ids);
    exchange.respond(200, root);
  }

  void clearFailures(SimExchange exchange) {
    engine.failures().clear();
    exchange.respond(200, SimJson.object().put("cleared", true));
  }

  void removeFailure(SimExchange exchange) {
    String id = exchange.path().substring("/sim/failures/".length());
    boolean known = id.matches("[0-9]{1,9}") && engine.failures().remove(Integer.parseInt(id));
    if (!known) {
      throw RequestError.notFound(
          "failure: " + id + " (expected: an id of GET /sim/failures)", null);
    }
    exchange.respond(200, SimJson.object().put("removed", Integer.parseInt(id)));
  }
}
