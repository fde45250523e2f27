package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.TreeSet;

/** Endpoints of production-stack's router about itself and its engines. */
public final class StackApi {
  private final EngineIds engines;
  private final String version;

  public StackApi(EngineIds engines, String version) {
    this.engines = engines;
    this.version = version;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/engines", _ -> engines());
    routes.on("GET", "/version", _ -> Json.answer(200, Json.object().put("version", version)));
  }

  private LocalResponse engines() {
    ArrayNode all = Json.MAPPER.createArrayNode();
    for (EngineIds.Engine each : engines.all().values()) {
      ObjectNode engine = all.addObject();
      engine.put("engine_id", each.id());
      ArrayNode models = engine.putArray("serving_models");
      new TreeSet<>(each.worker().models()).forEach(models::add);
      engine.put("created", each.since());
    }
    return Json.answer(200, all);
  }
}
