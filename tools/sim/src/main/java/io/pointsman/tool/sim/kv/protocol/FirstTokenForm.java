package io.pointsman.tool.sim.kv.protocol;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.tool.sim.kv.FieldError;
import io.pointsman.tool.sim.kv.Fields;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The members that a request must not contain if another engine generates its first token. They
 * depend on all tokens, and no engine would see all of them.
 */
final class FirstTokenForm {
  private static final List<String> SPEAK_OF_ALL_TOKENS =
      List.of(
          "seed",
          "stop",
          "stop_token_ids",
          "presence_penalty",
          "frequency_penalty",
          "repetition_penalty",
          "length_penalty",
          "logit_bias",
          "allowed_token_ids",
          "bad_words",
          "logprobs",
          "top_logprobs",
          "return_token_ids",
          "return_tokens_as_token_ids",
          "truncate_prompt_tokens",
          "response_format",
          "structured_outputs",
          "guided_json",
          "guided_regex",
          "guided_choice",
          "guided_grammar",
          "tools",
          "messages");

  private FirstTokenForm() {}

  /** Returns the error of a request; null if there is none. */
  static @Nullable FieldError wrong(KvRequest request) {
    Fields body = request.fields();
    for (String name : SPEAK_OF_ALL_TOKENS) {
      if (body.has(name)) {
        return body.wrong(name, "absent where the first token comes from prefill");
      }
    }
    JsonNode least = body.at("min_tokens");
    if (least.isNumber() && least.asInt() > 1) {
      return body.wrong("min_tokens", "at most 1 where the first token comes from prefill");
    }
    return body.at("prompt").isArray() ? null : body.wrong("prompt", "token ids");
  }
}
