package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Models of the whole fleet in OpenAI's format: {@code GET /v1/models} and one model below it. */
public final class ModelsApi {
  private static final String MODELS = "/v1/models/";

  private final ModelCards cards;
  private final Supplier<Map<String, String>> aliases;

  /**
   * @param aliases models by their further names
   */
  public ModelsApi(ModelCards cards, Supplier<Map<String, String>> aliases) {
    this.cards = cards;
    this.aliases = aliases;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/v1/models", request -> all(request.client()));
    routes.below("GET", MODELS, request -> one(request.pathAfter(MODELS), request.client()));
    routes.forAnyOrigin("/v1/models").forAnyOrigin(MODELS);
  }

  private LocalResponse all(ClientIdentity client) {
    ObjectNode body = Json.object();
    body.put("object", "list");
    ArrayNode data = body.putArray("data");
    listed(client).values().forEach(data::add);
    return Json.answer(200, body);
  }

  /** The cards of the client's models by name; an alias has its model's card under its own name. */
  private Map<String, ObjectNode> listed(ClientIdentity client) {
    Map<String, ObjectNode> merged = cards.merged();
    Map<String, String> known = aliases.get();
    Map<String, ObjectNode> further = new TreeMap<>();
    known.forEach(
        (alias, model) -> {
          ObjectNode card = merged.get(model);
          if (card != null) {
            further.put(alias, card.deepCopy().put("id", alias));
          }
        });
    merged.putAll(further);
    merged.keySet().removeIf(name -> !client.mayUse(name));
    return merged;
  }

  private LocalResponse one(String model, ClientIdentity client) {
    Map<String, ObjectNode> merged = listed(client);
    ObjectNode card = merged.get(model);
    if (card == null) {
      // Ray Serve's convention for clients that cannot put a slash in a path: they send "--".
      card = merged.get(model.replace("--", "/"));
    }
    return card == null
        ? Json.error(ProxyError.UNKNOWN_MODEL, "The model '" + model + "' does not exist")
        : Json.answer(200, card);
  }
}
