package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.Fields;

/** The required form of a prefill request: one token, one document, one sequence. */
final class PrefillForm {
  private static final String[] LENGTHS = {
    "max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens"
  };
  private static final String[] LEAST = {"min_tokens", "min_completion_tokens", "min_new_tokens"};

  private PrefillForm() {}

  static void check(KvRequest request) {
    request.single();
    Fields body = request.fields();
    lengths(body);
    if (body.at("sampling_params").isObject()) {
      lengths(body.object("sampling_params"));
    }
    if (request.generation().outputTokens() != 1 || request.generation().stopsByItself()) {
      String field = request.path().equals("/v1/responses") ? "max_output_tokens" : "max_tokens";
      int tokens = request.generation().outputTokens();
      throw FieldError.wrong(field, "an answer of " + tokens + " tokens", "1");
    }
    JsonNode stream = body.at("stream");
    if (Fields.present(stream) && (!stream.isBoolean() || stream.booleanValue())) {
      throw body.wrong("stream", "false or unset");
    }
    if (body.has("stream_options")) {
      throw body.wrong("stream_options", "unset");
    }
    if (body.at("use_beam_search").asBoolean(false)) {
      throw body.wrong("use_beam_search", "false or unset");
    }
    if (body.has("best_of")) {
      body.integer("best_of", 1, 1);
    }
  }

  private static void lengths(Fields fields) {
    for (String name : LEAST) {
      if (fields.has(name)) {
        fields.integer(name, 0, 1);
      }
    }
    for (String name : LENGTHS) {
      if (fields.has(name)) {
        fields.integer(name, 1, 1);
      }
    }
  }
}
