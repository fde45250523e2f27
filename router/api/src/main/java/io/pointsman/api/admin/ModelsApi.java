package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.RouterId;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
    routes.on("GET", "/v1/models", request -> all(request));
    routes.below("GET", MODELS, request -> one(request.pathAfter(MODELS), request));
    routes.forAnyOrigin("/v1/models").forAnyOrigin(MODELS);
  }

  private LocalResponse all(LocalRequest request) {
    ObjectNode body = Json.object();
    body.put("object", "list");
    ArrayNode data = body.putArray("data");
    listed(request).values().forEach(data::add);
    return Json.answer(200, body);
  }

  /** The cards of the client's models by name; an alias has its model's card under its own name. */
  private Map<String, ObjectNode> listed(LocalRequest request) {
    ClientIdentity client = request.client();
    Map<String, ObjectNode> merged = cards.merged(request.header(RouterId.VIA));
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

  private LocalResponse one(String model, LocalRequest request) {
    Map<String, ObjectNode> merged = listed(request);
    ObjectNode card = named(model, merged);
    if (card == null && model.endsWith("/")) {
      card = named(model.substring(0, model.length() - 1), merged);
    }
    return card == null
        ? Json.error(ProxyError.UNKNOWN_MODEL, "The model '" + model + "' does not exist")
        : Json.answer(200, card);
  }

  private static @Nullable ObjectNode named(String model, Map<String, ObjectNode> merged) {
    ObjectNode card = merged.get(model);
    // Ray Serve's convention for clients that cannot put a slash in a path: they send "--".
    return card == null ? merged.get(model.replace("--", "/")) : card;
  }
}
