package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.text.Media;
import io.pointsman.tool.sim.text.Tokeniser;

/** {@code /tokenize} and {@code /detokenize}. */
final class TokenizeApi {
  private final EngineCore engine;
  private final SimRequests requests;

  TokenizeApi(EngineCore engine) {
    this.engine = engine;
    this.requests = new SimRequests(engine);
  }

  void tokenize(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    int[] ids;
    if (body.has("messages")) {
      ids = ChatApi.prompt(body);
    } else if (body.path("prompt").isTextual()) {
      ids = Tokeniser.encode(body.path("prompt").textValue());
    } else {
      throw RequestError.badRequest("prompt: missing (expected: a string, or messages)", "prompt");
    }
    ObjectNode root = SimJson.object().put("count", ids.length);
    root.put("max_model_len", engine.scheduler().limits().longestRequest());
    root.set("tokens", SimJson.array(Media.shown(ids)));
    root.putNull("token_strs");
    if (body.path("return_token_strs").asBoolean(false)) {
      ArrayNode texts = root.putArray("token_strs");
      for (int id : ids) {
        texts.add(Tokeniser.decode(id));
      }
    }
    exchange.respond(200, root);
  }

  void detokenize(SimExchange exchange) {
    JsonNode body = exchange.json();
    requests.model(body);
    JsonNode tokens = body.path("tokens");
    if (!tokens.isArray()) {
      throw RequestError.badRequest("tokens: missing (expected: a list of ids)", "tokens");
    }
    String text = tokens.isEmpty() ? "" : Tokeniser.decode(SimRequests.ids(tokens, "tokens"));
    exchange.respond(200, SimJson.object().put("prompt", text));
  }
}
