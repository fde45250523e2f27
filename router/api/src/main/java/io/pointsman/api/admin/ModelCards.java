package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.wire.RouterId;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Model cards of the workers, from their last response to {@code GET /v1/models}. Client requests
 * for models are answered from these cards, without a request to an engine. Cards of workers that
 * leave the fleet are dropped.
 */
public final class ModelCards {
  /** Maximum size of a response, in bytes. Models of a larger response are listed by name only. */
  static final int MOST_BYTES = 256 << 10;

  private final Fleet fleet;
  private final Map<Worker, Map<String, ObjectNode>> byWorker = new ConcurrentHashMap<>();

  public ModelCards(Fleet fleet) {
    this.fleet = fleet;
    fleet.listen(this::forgetOthers);
  }

  private void forgetOthers(FleetSnapshot snapshot) {
    byWorker.keySet().retainAll(Set.copyOf(snapshot.workers()));
  }

  /**
   * Stores the model cards in a worker's response.
   *
   * @param body a response to {@code GET /v1/models}; ignored if it is too large or not JSON
   */
  public void learned(Worker worker, byte[] body) {
    if (body.length > MOST_BYTES) {
      return;
    }
    Map<String, ObjectNode> cards = new HashMap<>();
    try {
      for (JsonNode card : Json.MAPPER.readTree(body).path("data")) {
        if (card instanceof ObjectNode object && card.path("id").isTextual()) {
          cards.put(card.path("id").asText(), object);
        }
      }
    } catch (IOException e) {
      return;
    }
    byWorker.put(worker, cards);
    if (fleet.snapshot().worker(worker.id()) != worker) {
      byWorker.remove(worker);
    }
  }

  /**
   * A card for each model of the fleet, by name. The first worker that serves the model provides
   * the card.
   *
   * @param via the routers that sent the request, by {@link RouterId#VIA}; their models are left
   *     out. Null: none
   */
  Map<String, ObjectNode> merged(@Nullable String via) {
    Map<String, ObjectNode> merged = new LinkedHashMap<>();
    for (Worker worker : fleet.snapshot().workers()) {
      if (via != null && RouterId.passed(via, worker.probes().router())) {
        continue;
      }
      Map<String, ObjectNode> cards = byWorker.getOrDefault(worker, Map.of());
      for (String model : new TreeSet<>(worker.models())) {
        merged.computeIfAbsent(
            model, name -> cards.containsKey(name) ? cards.get(name) : plain(name));
      }
    }
    return merged;
  }

  /** A default card, for a model that its worker has not described. */
  private static ObjectNode plain(String model) {
    ObjectNode card = Json.object();
    card.put("id", model);
    card.put("object", "model");
    card.put("created", 0);
    card.put("owned_by", "pointsman");
    return card;
  }
}
