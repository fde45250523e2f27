package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.Map;

/** Models of the whole fleet in OpenAI's format: {@code GET /v1/models} and one model below it. */
public final class ModelsApi {
  private static final String MODELS = "/v1/models/";

  private final ModelCards cards;

  public ModelsApi(ModelCards cards) {
    this.cards = cards;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/v1/models", _ -> all());
    routes.below("GET", MODELS, request -> one(request.pathAfter(MODELS)));
    routes.forAnyOrigin("/v1/models").forAnyOrigin(MODELS);
  }

  private LocalResponse all() {
    ObjectNode body = Json.object();
    body.put("object", "list");
    ArrayNode data = body.putArray("data");
    cards.merged().values().forEach(data::add);
    return Json.answer(200, body);
  }

  private LocalResponse one(String model) {
    Map<String, ObjectNode> merged = cards.merged();
    ObjectNode card = merged.get(model);
    if (card == null) {
      // Ray Serve's convention for clients that cannot put a slash in a path: they send "--".
      card = merged.get(model.replace("--", "/"));
    }
    return card == null
        ? Json.error(
            404,
            "invalid_request_error",
            "model_not_found",
            "The model '" + model + "' does not exist")
        : Json.answer(200, card);
  }
}
