package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.http.SimEndpoint;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.protocol.Task;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * KV that LMCache prefill engines have pushed here, by the hash of its tokens; the oldest is
 * dropped first. It is complete when all ranks have arrived.
 */
final class PushedKv {
  private static final int CAPACITY = 10_000;
  private static final int NOT_ASKED = -1;

  /** The KV of one prompt. */
  private static final class Arrival {
    final BitSet ranks = new BitSet();
    int firstToken;
  }

  private final int ranks;
  private final LinkedHashMap<String, Arrival> byHash =
      new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Arrival> eldest) {
          return size() > CAPACITY;
        }
      };

  PushedKv(int ranks) {
    this.ranks = ranks;
  }

  /** Returns the error of a request that requires this KV; null if the KV is present. */
  @Nullable FieldError missing(Task.Arrived wanted) {
    if (complete(byHash.get(wanted.whole()))) {
      return null;
    }
    Arrival there = byHash.get(wanted.hash());
    if (there == null || !complete(there)) {
      return FieldError.stale(
          "prompt", "no KV has arrived for its first " + wanted.tokens() + " tokens");
    }
    if (there.firstToken == NOT_ASKED) {
      return FieldError.stale("prompt", "prefill was not asked for a first token");
    }
    if (there.firstToken != wanted.firstToken()) {
      return FieldError.stale(
          "prompt",
          "ends with " + wanted.firstToken() + " (prefill's token: " + there.firstToken + ")");
    }
    return wanted.constrained();
  }

  private boolean complete(@Nullable Arrival arrival) {
    return arrival != null && arrival.ranks.cardinality() == ranks;
  }

  void clear() {
    byHash.clear();
  }

  /** The init or alloc port of a rank. */
  SimEndpoint port(boolean alloc, int rank) {
    return exchange -> {
      JsonNode asked = exchange.json();
      boolean buffers = exchange.path().equals("/kv/put");
      String field = "disagg_spec.receiver_" + (buffers ? "alloc_port" : "init_port");
      if (!exchange.path().equals(alloc ? "/kv/put" : "/kv/init")) {
        SideApi.refuse(exchange, FieldError.stale(field, "a port of the other kind"));
      } else if (asked.path("rank").asInt(-1) != rank) {
        SideApi.refuse(exchange, FieldError.stale(field, "the port of rank " + rank));
      } else {
        accept(exchange, asked, alloc, rank);
      }
    };
  }

  private void accept(SimExchange exchange, JsonNode asked, boolean alloc, int rank) {
    if (alloc) {
      Arrival arrival = byHash.computeIfAbsent(asked.path("hash").asText(), h -> new Arrival());
      arrival.ranks.set(rank);
      arrival.firstToken = asked.path("first_tok").asInt(NOT_ASKED);
    }
    exchange.respond(200, SimJson.object());
  }
}
