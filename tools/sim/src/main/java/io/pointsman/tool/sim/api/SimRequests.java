package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.cache.BlockHashes;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.Generation;
import io.pointsman.tool.sim.live.GenerationRun;
import io.pointsman.tool.sim.text.Tokeniser;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the fields that the generation APIs have in common. */
final class SimRequests {
  private static final int MOST_CHOICES = 1024;

  private final EngineCore engine;

  SimRequests(EngineCore engine) {
    this.engine = engine;
  }

  /**
   * Returns the model named by the body, or the base model; 404 if this engine does not serve it.
   */
  String model(JsonNode body) {
    JsonNode model = body.path("model");
    if (model.isMissingNode() || model.isNull() || model.asText().isEmpty()) {
      return engine.profile().model();
    }
    return known(model.asText());
  }

  String known(String model) {
    if (!engine.profile().models().contains(model)) {
      throw RequestError.notFound("The model `" + model + "` does not exist.", "model");
    }
    return model;
  }

  /** Reads a generation; {@code params} contains its length and number of choices. */
  Generation generation(JsonNode body, JsonNode params, List<int[]> prompts, Length length) {
    String model = model(body);
    JsonNode seed = params.path("seed");
    long own = engine.profile().seed();
    long random = seed.isIntegralNumber() ? seed.longValue() : BlockHashes.mix(engine.nextSerial());
    int choices = positive(params, "n", 1);
    if (choices > MOST_CHOICES) {
      throw RequestError.badRequest("n: " + choices + " (expected: at most 1024)", "n");
    }
    return new Generation(
        model,
        prompts,
        choices,
        length.tokens(),
        length.stopsByItself(),
        BlockHashes.mix(own) ^ random,
        salt(body));
  }

  /** A prefill without output. */
  Generation prefill(JsonNode body, List<int[]> prompts) {
    String model = model(body);
    return new Generation(model, prompts, 1, 0, true, engine.profile().seed(), salt(body));
  }

  /**
   * Returns the length in the first present field of {@code fields}.
   *
   * @param otherwise length if none is present; 0: the engine's choice
   */
  Length length(JsonNode params, List<int[]> prompts, int otherwise, String... fields) {
    int least = params.path("min_tokens").asInt(0);
    for (String field : fields) {
      if (!params.path(field).isMissingNode() && !params.path(field).isNull()) {
        return new Length(Math.max(least, positive(params, field, 1)), false);
      }
    }
    if (otherwise > 0) {
      return new Length(Math.max(least, otherwise), false);
    }
    int longest = 0;
    for (int[] prompt : prompts) {
      longest = Math.max(longest, prompt.length);
    }
    int room = Math.max(1, engine.scheduler().limits().longestRequest() - longest);
    int own = Math.max(least, engine.profile().outputTokens());
    return new Length(Math.min(own, room), true);
  }

  /** Reads prompts from a string, a list of strings, token ids, or a list of lists of them. */
  static List<int[]> prompts(JsonNode node, String field) {
    if (node.isTextual()) {
      return List.of(nonEmpty(Tokeniser.encode(node.textValue()), field));
    }
    if (!node.isArray() || node.isEmpty()) {
      throw RequestError.badRequest(
          field + ": missing (expected: a string, token ids, or a list of either)", field);
    }
    if (node.get(0).isNumber()) {
      return List.of(ids(node, field));
    }
    List<int[]> prompts = new ArrayList<>();
    for (JsonNode item : node) {
      prompts.addAll(prompts(item, field));
    }
    return prompts;
  }

  /** Reads token ids; 400 unless all are integers. */
  static int[] ids(JsonNode node, String field) {
    int[] ids = new int[node.size()];
    for (int i = 0; i < ids.length; i++) {
      JsonNode id = node.get(i);
      if (!id.isIntegralNumber()) {
        throw RequestError.badRequest(field + ": not all integers (expected: token ids)", field);
      }
      ids[i] = (int) id.longValue();
    }
    return nonEmpty(ids, field);
  }

  static boolean streams(JsonNode body) {
    return body.path("stream").asBoolean(false);
  }

  static boolean wantsIds(JsonNode body) {
    return body.path("return_token_ids").asBoolean(false);
  }

  /** A list of ids as JSON. */
  static String ids(int[] ids) {
    return SimJson.array(ids).toString();
  }

  static boolean wantsUsage(JsonNode body) {
    return body.path("stream_options").path("include_usage").asBoolean(false);
  }

  /** Adds the description of the KV blocks for the next turn to the last chunk of a choice. */
  static String handedOver(GenerationRun run, String chunk) {
    JsonNode params = run.handedOverInStreams();
    return params == null
        ? chunk
        : chunk.substring(0, chunk.length() - 1) + ",\"kv_transfer_params\":" + params + "}";
  }

  private static int[] nonEmpty(int[] ids, @Nullable String field) {
    if (ids.length == 0) {
      throw RequestError.badRequest(field + ": empty (expected: at least one token)", field);
    }
    return ids;
  }

  private static int positive(JsonNode params, String field, int otherwise) {
    JsonNode node = params.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return otherwise;
    }
    if (!node.isIntegralNumber() || node.intValue() < 1) {
      throw RequestError.badRequest(field + ": " + node + " (expected: at least 1)", field);
    }
    return node.intValue();
  }

  private static String salt(JsonNode body) {
    return body.path("cache_salt").asText("");
  }

  /** A response's length in tokens, and whether the engine chose it. */
  record Length(int tokens, boolean stopsByItself) {}
}
