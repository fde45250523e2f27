package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;

/**
 * {@code GET /workers} of a router without {@link WorkersApi}, with the fields that other proxies
 * need to follow the fleet. Access needs no further right, because decisions contain the same
 * addresses.
 */
public final class WorkerList {
  private final Fleet fleet;

  public WorkerList(Fleet fleet) {
    this.fleet = fleet;
  }

  /** Adds its route. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", WorkersApi.LIST, _ -> all()).forPlanes("GET", WorkersApi.LIST);
  }

  private LocalResponse all() {
    ObjectNode body = Json.object();
    ArrayNode workers = body.putArray("workers");
    for (Worker worker : fleet.snapshot().workers()) {
      ObjectNode node = workers.addObject();
      node.put("url", WorkerUrls.of(worker));
      node.put("worker_type", WorkersApi.name(worker.spec().role()));
      node.put("is_healthy", worker.health().healthy());
      node.put("id", worker.id());
      node.put("draining", worker.draining() || worker.closing());
      node.put("asleep", worker.asleep());
      node.put("reason", worker.health().reason());
    }
    return Json.answer(200, body);
  }
}
