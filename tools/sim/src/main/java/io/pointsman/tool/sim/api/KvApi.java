package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.KvState;
import io.pointsman.tool.sim.kv.RequestLog;
import io.pointsman.tool.sim.kv.link.KvNode;
import java.nio.charset.StandardCharsets;

/** {@code /sim/kv} and {@code /sim/requests}: the actual state of KV transfers. */
final class KvApi {
  private final KvNode node;

  KvApi(KvNode node) {
    this.node = node;
  }

  void state(SimExchange exchange) {
    exchange.respond(200, document(node.state()));
  }

  /** The last requests; bodies as text, which keeps every byte of valid UTF-8. */
  void requests(SimExchange exchange) {
    ArrayNode list = SimJson.array();
    for (RequestLog.Logged logged : node.log().all()) {
      ObjectNode item = list.addObject().put("path", logged.path());
      ArrayNode headers = item.putArray("headers");
      logged
          .headers()
          .forEach(header -> headers.addArray().add(header.getKey()).add(header.getValue()));
      item.put("body", new String(logged.body(), StandardCharsets.UTF_8));
    }
    exchange.respond(200, list);
  }

  void forgetRequests(SimExchange exchange) {
    node.log().clear();
    exchange.respond(200, SimJson.object().put("cleared", true));
  }

  static void log(KvNode node, SimExchange exchange) {
    node.log()
        .add(
            new RequestLog.Logged(
                exchange.method(),
                exchange.uri(),
                exchange.headers().entries(),
                exchange.body().clone()));
  }

  static ObjectNode document(KvState state) {
    ObjectNode root =
        SimJson.object().put("role", state.role()).put("connector", state.connector());
    root.put("engine_id", state.engineId()).put("port", state.port());
    ArrayNode inits = root.putArray("init_ports");
    state.initPorts().forEach(inits::add);
    ArrayNode allocs = root.putArray("alloc_ports");
    state.allocPorts().forEach(allocs::add);
    KvState.StepCounts steps = state.steps();
    root.put("prefill_requests", steps.prefill()).put("decode_requests", steps.decode());
    root.put("direct_requests", steps.direct()).put("recomputed_requests", steps.recomputed());
    KvState.ReservedCounts reserved = state.reserved();
    root.put("reserved_requests", reserved.requests()).put("reserved_blocks", reserved.blocks());
    root.put("released", reserved.released()).put("leaked", reserved.leaked());
    root.put("leaked_blocks", reserved.leakedBlocks()).put("lease_renewals", reserved.renewals());
    KvState.Transfers transfers = state.transfers();
    root.put("readers_waiting", transfers.waiting());
    root.put("transfers_in_progress", transfers.inProgress());
    root.put("max_transfers_in_progress", transfers.maxInProgress());
    root.put("transfers", transfers.finished()).put("transferred_tokens", transfers.tokens());
    root.put("field_errors_total", state.fieldErrorsInAll());
    ObjectNode errors = root.putObject("field_errors");
    state.fieldErrors().forEach(errors::put);
    ArrayNode reasons = root.putArray("reasons");
    state.reasons().forEach(reasons::add);
    return root;
  }
}
