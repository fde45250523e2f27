package io.pointsman.request;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.StringScanner;
import io.pointsman.request.splice.JsonMembers;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Decides if an engine computes the prompt of a request in the order of arrival. Engines let later
 * requests pass one that waits for a grammar (structured output, strict tools, a required tool
 * call), or for images and audio, or that has another priority. Members that are unknown here may
 * do the same. Only bodies of known members therefore have a known order.
 */
public final class PromptOrder {
  /** Members without effect on the order, with any value. */
  private static final Set<String> ANY_VALUE =
      Set.of(
          "model",
          "stream",
          "stream_options",
          "max_tokens",
          "max_completion_tokens",
          "max_output_tokens",
          "min_tokens",
          "temperature",
          "top_p",
          "top_k",
          "min_p",
          "n",
          "best_of",
          "stop",
          "stop_sequences",
          "stop_token_ids",
          "ignore_eos",
          "seed",
          "frequency_penalty",
          "presence_penalty",
          "repetition_penalty",
          "logprobs",
          "top_logprobs",
          "logit_bias",
          "echo",
          "skip_special_tokens",
          "parallel_tool_calls",
          "add_generation_prompt",
          "continue_final_message",
          "chat_template_kwargs",
          "reasoning_effort",
          "metadata",
          "user",
          "safety_identifier",
          "prompt_cache_key",
          "cache_salt",
          "request_id");

  /** Members of a message, beside its content. */
  private static final Set<String> OF_A_MESSAGE =
      Set.of("role", "name", "type", "id", "status", "refusal", "tool_calls", "tool_call_id");

  /** Members of a part of a message that is text. */
  private static final Set<String> OF_A_TEXT =
      Set.of("type", "text", "refusal", "annotations", "cache_control");

  /** Members of a tool, and of its function, beside {@code strict}. */
  private static final Set<String> OF_A_TOOL =
      Set.of("type", "name", "description", "parameters", "input_schema", "cache_control");

  private final JsonCursor json = new JsonCursor(StringScanner.best());
  private final byte[] body;

  private PromptOrder(byte[] body) {
    this.body = body;
  }

  /**
   * Returns true if engines compute the prompt in the order of arrival.
   *
   * @param body a complete body; anything but a JSON object has no known order
   */
  public static boolean isKnown(byte[] body) {
    return new PromptOrder(body).known();
  }

  private boolean known() {
    JsonMembers members = JsonMembers.read(json, body, 0, body.length);
    if (members == null) {
      return false;
    }
    for (int i = 0; i < members.count(); i++) {
      String name = members.name(i);
      if (!ANY_VALUE.contains(name) && !known(name, members.valueFrom(i), members.valueTo(i))) {
        return false;
      }
    }
    return true;
  }

  private boolean known(String name, int from, int to) {
    json.reset(body, from, to);
    int start = json.peek();
    boolean known =
        start == 'n'
            || switch (name) {
              case "prompt" -> start == '"' || start == '[';
              case "messages", "input" -> start == '"' || messages();
              case "system", "instructions" -> textOnly();
              case "tools" -> tools();
              case "tool_choice" -> textIn(Set.of("auto", "none"), from, to);
              default -> false;
            };
    json.release();
    return known;
  }

  private boolean textIn(Set<String> values, int from, int to) {
    return json.peek() == '"' && values.stream().anyMatch(each -> textIs(each, from, to));
  }

  private boolean textIs(String text, int from, int to) {
    return to - from == text.length() + 2
        && new String(body, from + 1, text.length(), US_ASCII).equals(text);
  }

  private boolean messages() {
    return json.peek() == '[' && each(this::message);
  }

  private boolean message() {
    return members(
        () -> {
          if (json.keyIs("content")) {
            return textOnly();
          }
          return skipIf(OF_A_MESSAGE.contains(json.key()));
        });
  }

  /** Reads a text, null, or a list of parts that are text. */
  private boolean textOnly() {
    return json.peek() == '['
        ? each(() -> members(() -> skipIf(OF_A_TEXT.contains(json.key()))))
        : skipIf(json.peek() != '{');
  }

  private boolean tools() {
    return json.peek() == '[' && each(() -> tool(true));
  }

  private boolean tool(boolean outer) {
    return members(
        () -> {
          if (json.keyIs("strict")) {
            return skipIf(json.peek() == 'f' || json.peek() == 'n');
          }
          if (outer && json.keyIs("function")) {
            return tool(false);
          }
          return skipIf(OF_A_TOOL.contains(json.key()));
        });
  }

  /** Reads the value at the cursor if {@code known}; it returns its argument. */
  private boolean skipIf(boolean known) {
    if (known) {
      json.value();
    }
    return known;
  }

  private boolean members(BooleanSupplier value) {
    if (json.peek() != '{') {
      return false;
    }
    for (boolean more = json.firstMember(); more; more = json.nextMember()) {
      if (!value.getAsBoolean()) {
        return false;
      }
    }
    return true;
  }

  private boolean each(BooleanSupplier element) {
    for (boolean more = json.firstElement(); more; more = json.nextElement()) {
      if (!element.getAsBoolean()) {
        return false;
      }
    }
    return true;
  }
}
