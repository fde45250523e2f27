package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.text.Media;
import java.util.function.Function;

/** The {@code .../render} family: the prompt of a request as token ids, without computing it. */
final class RenderApi {
  private final EngineCore engine;

  RenderApi(EngineCore engine) {
    this.engine = engine;
  }

  /** Responds with one object. */
  void one(SimExchange exchange, Function<JsonNode, Generation> read) {
    JsonNode body = exchange.json();
    Generation request = read.apply(body);
    exchange.respond(200, object(request, request.prompts().getFirst(), body));
  }

  /** Responds with one object per prompt. */
  void each(SimExchange exchange, Function<JsonNode, Generation> read) {
    JsonNode body = exchange.json();
    Generation request = read.apply(body);
    ArrayNode all = SimJson.array();
    request.prompts().forEach(prompt -> all.add(object(request, prompt, body)));
    exchange.respond(200, all);
  }

  /** {@code features} is not null if the body contains parts that are not text. */
  private ObjectNode object(Generation request, int[] prompt, JsonNode body) {
    ObjectNode root = SimJson.object().put("request_id", "render-" + engine.nextSerial());
    root.set("token_ids", SimJson.array(Media.shown(prompt)));
    root.putNull("features");
    if (isMultimodal(body)) {
      root.putObject("features").putObject("mm_hashes");
    }
    root.putObject("sampling_params")
        .put("n", request.choices())
        .put("max_tokens", request.outputTokens());
    root.put("model", request.model()).put("stream", SimRequests.streams(body));
    root.set("cache_salt", body.get("cache_salt"));
    return root;
  }

  private static boolean isMultimodal(JsonNode body) {
    for (JsonNode message : body.path("messages")) {
      for (JsonNode part : message.path("content")) {
        String type = part.path("type").asText("text");
        if (!type.equals("text")) {
          return true;
        }
      }
    }
    return false;
  }
}
