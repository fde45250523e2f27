package io.pointsman.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What the workers say of the models they serve, as they last answered {@code GET /v1/models}: no
 * client's question is passed on to an engine. Forgets workers that leave.
 */
public final class ModelCards {
  /** Larger answers are not kept; their models are listed by name only. */
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
   * Takes note of what a worker answered.
   *
   * @param body an answer to {@code GET /v1/models}; anything else is ignored
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

  /** A card for each model of the fleet, by name; the first worker that serves it describes it. */
  Map<String, ObjectNode> merged() {
    Map<String, ObjectNode> merged = new LinkedHashMap<>();
    for (Worker worker : fleet.snapshot().workers()) {
      Map<String, ObjectNode> cards = byWorker.getOrDefault(worker, Map.of());
      for (String model : new TreeSet<>(worker.models())) {
        merged.computeIfAbsent(
            model, name -> cards.containsKey(name) ? cards.get(name) : plain(name));
      }
    }
    return merged;
  }

  /** The card of a model that no worker has described. */
  private static ObjectNode plain(String model) {
    ObjectNode card = Json.object();
    card.put("id", model);
    card.put("object", "model");
    card.put("created", 0);
    card.put("owned_by", "pointsman");
    return card;
  }
}
