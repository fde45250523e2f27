package io.pointsman.request.strict;

import io.pointsman.request.Endpoint;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Checks of complete JSON bodies against the types of vllm-router, which parses bodies into fixed
 * structures. Other members are not checked. Routes that vllm-router forwards unread have no check.
 */
public final class StrictBody {
  /** A body that is refused. */
  public record Problem(Kind kind, String message) {}

  /** The kinds of problems, which have different statuses. */
  public enum Kind {
    /** A member has the wrong type, or is missing. */
    TYPE,
    /** A member of a rerank has a wrong value. */
    VALUE
  }

  /** The members of one route. */
  private record Schema(List<String> required, Map<String, StrictType> types) {}

  private static final Map<Endpoint, Schema> SCHEMAS =
      Map.of(
          Endpoint.CHAT_COMPLETIONS, chat(),
          Endpoint.COMPLETIONS, completions(),
          Endpoint.EMBEDDINGS, embeddings(),
          Endpoint.GENERATE, generate(),
          Endpoint.TOKEN_GENERATE, tokenGenerate(),
          Endpoint.RERANK, rerank());

  private StrictBody() {}

  /** The problem of a complete body; null if it has none or the route has no check. */
  public static @Nullable Problem problem(Endpoint endpoint, byte[] body, int from, int to) {
    Schema schema = SCHEMAS.get(endpoint);
    JsonMembers members =
        schema == null
            ? null
            : JsonMembers.read(new JsonCursor(StringScanner.best()), body, from, to);
    if (schema == null || members == null) {
      return null;
    }
    for (String name : schema.required) {
      if (members.last(name) < 0) {
        return new Problem(Kind.TYPE, "missing field `" + name + "`");
      }
    }
    for (int i = 0; i < members.count(); i++) {
      String name = members.name(i);
      StrictType type = schema.types.get(name);
      String fault =
          type == null
              ? null
              : type.fault(
                  body, members.valueFrom(i), members.valueTo(i), schema.required.contains(name));
      if (fault != null) {
        return new Problem(Kind.TYPE, name + ": " + fault);
      }
    }
    return endpoint == Endpoint.RERANK ? ofRerank(members, body) : null;
  }

  private static @Nullable Problem ofRerank(JsonMembers members, byte[] body) {
    int query = members.last("query");
    String text = members.text(query);
    if (text.substring(1, text.length() - 1).isBlank()) {
      return new Problem(Kind.VALUE, "query: empty (expected: a text)");
    }
    int documents = members.last("documents");
    if (JsonItems.of(body, members.valueFrom(documents), members.valueTo(documents)).isEmpty()) {
      return new Problem(Kind.VALUE, "documents: empty (expected: at least one text)");
    }
    int best = members.last("top_k");
    if (best >= 0 && members.text(best).equals("0")) {
      return new Problem(Kind.VALUE, "top_k: 0 (expected: at least 1)");
    }
    return null;
  }

  private static Map<String, StrictType> common() {
    Map<String, StrictType> types = new HashMap<>();
    for (String name :
        List.of(
            "temperature",
            "top_p",
            "min_p",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "length_penalty")) {
      types.put(name, StrictType.NUMBER);
    }
    for (String name : List.of("max_tokens", "min_tokens", "n", "best_of", "dimensions")) {
      types.put(name, StrictType.COUNT);
    }
    types.put("seed", StrictType.INTEGER);
    types.put("top_k", StrictType.INTEGER);
    for (String name :
        List.of("stream", "echo", "ignore_eos", "no_stop_trim", "skip_special_tokens")) {
      types.put(name, StrictType.BOOLEAN);
    }
    types.put("model", StrictType.STRING);
    types.put("user", StrictType.STRING);
    types.put("stop", StrictType.TEXTS);
    types.put("stream_options", StrictType.OBJECT);
    return types;
  }

  private static Schema chat() {
    Map<String, StrictType> types = common();
    types.put("messages", StrictType.MESSAGES);
    types.put("tools", StrictType.TOOLS);
    types.put("tool_choice", StrictType.TOOL_CHOICE);
    types.put("response_format", StrictType.RESPONSE_FORMAT);
    types.put("reasoning_effort", StrictType.EFFORT);
    types.put("max_completion_tokens", StrictType.COUNT);
    types.put("top_logprobs", StrictType.COUNT);
    for (String name :
        List.of(
            "logprobs",
            "parallel_tool_calls",
            "continue_final_message",
            "separate_reasoning",
            "stream_reasoning",
            "return_hidden_states",
            "include_reasoning")) {
      types.put(name, StrictType.BOOLEAN);
    }
    types.put("logit_bias", StrictType.OBJECT);
    return new Schema(List.of("messages"), Map.copyOf(types));
  }

  private static Schema completions() {
    Map<String, StrictType> types = common();
    types.put("prompt", StrictType.PROMPT);
    types.put("suffix", StrictType.STRING);
    types.put("logprobs", StrictType.COUNT);
    types.put("return_hidden_states", StrictType.BOOLEAN);
    types.put("logit_bias", StrictType.OBJECT);
    return new Schema(List.of("prompt"), Map.copyOf(types));
  }

  private static Schema embeddings() {
    Map<String, StrictType> types =
        Map.of(
            "model", StrictType.STRING,
            "encoding_format", StrictType.STRING,
            "user", StrictType.STRING,
            "dimensions", StrictType.COUNT);
    return new Schema(List.of("input"), types);
  }

  private static Schema generate() {
    Map<String, StrictType> types =
        Map.of(
            "text", StrictType.TEXTS,
            "prompt", StrictType.STRING,
            "input_ids", StrictType.IDS,
            "sampling_params", StrictType.OBJECT,
            "stream", StrictType.BOOLEAN,
            "return_logprob", StrictType.BOOLEAN,
            "return_hidden_states", StrictType.BOOLEAN);
    return new Schema(List.of(), types);
  }

  private static Schema tokenGenerate() {
    Map<String, StrictType> types =
        Map.of(
            "token_ids", StrictType.IDS,
            "sampling_params", StrictType.OBJECT,
            "stream", StrictType.BOOLEAN);
    return new Schema(List.of("token_ids"), types);
  }

  private static Schema rerank() {
    Map<String, StrictType> types =
        Map.of(
            "query", StrictType.STRING,
            "documents", StrictType.STRINGS,
            "model", StrictType.STRING,
            "top_k", StrictType.COUNT,
            "return_documents", StrictType.BOOLEAN);
    return new Schema(List.of("query", "documents"), types);
  }
}
