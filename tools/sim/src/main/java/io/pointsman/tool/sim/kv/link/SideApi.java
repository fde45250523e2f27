package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimEndpoint;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.Claim;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.ReservedBlocks;
import java.util.List;

/**
 * The side channel of an engine, through which peers claim, renew and release reserved blocks. Also
 * the bootstrap server of Mooncake ({@code GET /query}) and the common store.
 */
final class SideApi implements SimEndpoint {
  private final KvNode node;

  SideApi(KvNode node) {
    this.node = node;
  }

  @Override
  public void handle(SimExchange exchange) {
    if (exchange.method().equals("GET")) {
      inform(exchange);
      return;
    }
    try {
      act(exchange, exchange.json());
    } catch (FieldError e) {
      refuse(exchange, e);
    }
  }

  private void inform(SimExchange exchange) {
    if (!exchange.path().equals("/query")) {
      exchange.fail(404, "NotFoundError", "Not Found: " + exchange.path(), null);
      return;
    }
    ObjectNode ranks = SimJson.object();
    for (int rank = 0; rank < node.options().dpSize(); rank++) {
      ranks.putObject(Integer.toString(rank)).put("engine_id", node.self().engineId(rank));
    }
    exchange.respond(200, ranks);
  }

  private void act(SimExchange exchange, JsonNode asked) {
    switch (exchange.path()) {
      case "/kv/engine" -> exchange.respond(200, identity());
      case "/kv/take" -> take(exchange, Claim.read(asked), asked.path("wait_ms").asLong(0));
      case "/kv/renew" -> {
        node.ledger().renew(Claim.read(asked), node.now());
        exchange.respond(200, SimJson.object());
      }
      case "/kv/release" -> {
        node.ledger().release(Claim.read(asked));
        exchange.respond(200, SimJson.object());
      }
      case "/kv/keep" -> {
        keep(Claim.read(asked));
        exchange.respond(200, SimJson.object());
      }
      case "/kv/store" -> {
        node.store().add(asked.path("hashes"));
        exchange.respond(200, SimJson.object());
      }
      case "/kv/find" -> {
        int known = node.store().known(asked.path("hashes"));
        exchange.respond(200, SimJson.object().put("blocks", known));
      }
      default -> exchange.fail(404, "NotFoundError", "Not Found: " + exchange.path(), null);
    }
  }

  /** The lease represents an unlimited time: engines keep blocks until a request takes them. */
  private void keep(Claim sent) {
    node.hold(
        List.of(sent.key()),
        0,
        sent.tokens(),
        String.valueOf(sent.hash()),
        node.options().leaseNanos(),
        () -> {});
  }

  private ObjectNode identity() {
    ObjectNode root = SimJson.object().put("role", node.options().role().label());
    root.put("connector", node.options().connector().label());
    root.put("tp_size", node.options().tpSize());
    return root.put("dp_size", node.options().dpSize());
  }

  private void take(SimExchange exchange, Claim claim, long waitMillis) {
    checkOwn(claim);
    boolean waits =
        waitMillis > 0
            && node.ledger().find(claim.key()) == null
            && node.ledger().mayCome(claim.key());
    if (!waits) {
      answer(exchange, claim);
      return;
    }
    Runnable leave = node.ledger().await(claim.key(), () -> answer(exchange, claim));
    exchange.onGone(leave);
    node.driver()
        .laterInWallTime(
            waitMillis,
            () -> {
              if (!exchange.done()) {
                leave.run();
                String reason = claim.key() + " (not produced in " + waitMillis + " ms)";
                refuse(exchange, FieldError.stale(claim.field(), reason));
              }
            });
  }

  private void answer(SimExchange exchange, Claim claim) {
    if (exchange.done()) {
      return;
    }
    try {
      ReservedBlocks reserved = node.ledger().claim(claim);
      exchange.respond(200, SimJson.object().put("tokens", reserved.tokens()));
    } catch (FieldError e) {
      refuse(exchange, e);
    }
  }

  /** Checks the parts of a claim that can be checked before the KV is present. */
  private void checkOwn(Claim claim) {
    String engine = claim.engineId();
    if (engine != null && !node.owns(engine)) {
      throw FieldError.stale(
          "remote_engine_id", engine + " (here: " + node.self().engineId(0) + ")");
    }
    int dpSize = node.options().dpSize();
    if (claim.dpSize() >= 0 && claim.dpSize() != dpSize) {
      throw FieldError.stale("remote_dp_size", claim.dpSize() + " (here: " + dpSize + ")");
    }
    int tpSize = node.options().tpSize();
    if (claim.tpSize() >= 0 && claim.tpSize() != tpSize) {
      String field = node.options().connector().registers() ? "remote_tp_size" : "tp_size";
      throw FieldError.stale(field, claim.tpSize() + " (here: " + tpSize + ")");
    }
  }

  static void refuse(SimExchange exchange, FieldError error) {
    exchange.respond(
        409, SimJson.object().put("field", error.field()).put("reason", error.reason()));
  }
}
