package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.live.GenerationRun;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Responses stored for retrieval by id; the oldest is dropped first. Owned by the event loop. */
final class ResponseStore {
  private final int capacity;
  private final Map<String, Stored> byId = new LinkedHashMap<>();

  ResponseStore(int capacity) {
    this.capacity = capacity;
  }

  void put(String id, Stored stored) {
    byId.put(id, stored);
    if (byId.size() > capacity) {
      byId.remove(byId.keySet().iterator().next());
    }
  }

  @Nullable Stored get(String id) {
    return byId.get(id);
  }

  boolean remove(String id) {
    return byId.remove(id) != null;
  }

  /**
   * A response.
   *
   * @param run the run that generates it
   * @param body the request's body
   * @param background true if it is generated in the background
   */
  record Stored(GenerationRun run, JsonNode body, boolean background) {}
}
