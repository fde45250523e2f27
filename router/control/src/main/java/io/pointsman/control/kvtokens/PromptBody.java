package io.pointsman.control.kvtokens;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.request.Endpoint;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Queries to engines about the prompt of one request, if it is eligible. A prompt is eligible if it
 * depends only on data that the routing key covers. Equal keys then mean equal token ids.
 */
final class PromptBody {
  private static final JsonMapper JSON = new JsonMapper();

  /**
   * Members that change the prompt or the identity of its blocks in KV events. Routing keys do not
   * cover them, or cover them in a way unknown to KV events.
   */
  private static final Set<String> FORBIDDEN =
      Set.of(
          "cache_salt",
          "extra_key",
          "lora_name",
          "lora_path",
          "lora_id",
          "lora_request",
          "adapter",
          "adapter_id",
          "adapter_name",
          "prompt_adapter_request",
          "prompt_embeds",
          "input_embeds",
          "input_embeddings",
          "multi_modal_data",
          "mm_processor_kwargs",
          "media_io_kwargs",
          "features",
          "truncate_prompt_tokens",
          "add_special_tokens",
          "reasoning_effort",
          "reasoning",
          "thinking",
          "suffix",
          "previous_response_id",
          "conversation");

  /** Members that {@code /tokenize} ignores, or treats differently in some versions. */
  private static final List<String> RENDERED_ONLY =
      List.of("tools", "tool_choice", "functions", "function_call", "response_format", "documents");

  private static final List<String> OF_A_CHAT =
      List.of(
          "model",
          "messages",
          "chat_template",
          "chat_template_kwargs",
          "add_generation_prompt",
          "continue_final_message");

  private static final Set<String> PLAIN = Set.of("text", "input_text", "output_text", "refusal");
  private static final Set<String> LEADING = Set.of("system", "developer");

  private final Endpoint endpoint;
  private final byte[] body;
  private final ObjectNode root;

  private PromptBody(Endpoint endpoint, byte[] body, ObjectNode root) {
    this.endpoint = endpoint;
    this.body = body;
    this.root = root;
  }

  /** True if prompts of this endpoint can be queried. */
  static boolean asks(Endpoint endpoint) {
    return path(endpoint) != null;
  }

  private static @Nullable String path(Endpoint endpoint) {
    return endpoint == Endpoint.CHAT_COMPLETIONS
        ? "/v1/chat/completions"
        : endpoint == Endpoint.COMPLETIONS
            ? "/v1/completions"
            : endpoint == Endpoint.RESPONSES
                ? "/v1/responses"
                : endpoint == Endpoint.MESSAGES ? "/v1/messages" : null;
  }

  /** The queries for a request; null if its token ids cannot be queried or reused. */
  static @Nullable PromptBody of(Endpoint endpoint, byte[] body) {
    JsonNode root;
    try {
      root = JSON.readTree(body);
    } catch (IOException e) {
      return null;
    }
    return root instanceof ObjectNode object && asks(endpoint) && usable(endpoint, object)
        ? new PromptBody(endpoint, body, object)
        : null;
  }

  private static boolean usable(Endpoint endpoint, ObjectNode root) {
    for (String name : FORBIDDEN) {
      if (root.hasNonNull(name)) {
        return false;
      }
    }
    if (root.path("tool_choice").asText("auto").equals("none")
        || !root.path("response_format").path("type").asText("text").equals("text")) {
      return false;
    }
    return endpoint == Endpoint.COMPLETIONS
        ? text(root.path("prompt")) != null
        : plain(conversation(endpoint, root));
  }

  private static @Nullable JsonNode text(JsonNode prompt) {
    JsonNode one = prompt.isArray() && prompt.size() == 1 ? prompt.get(0) : prompt;
    return one.isTextual() ? one : null;
  }

  private static JsonNode conversation(Endpoint endpoint, ObjectNode root) {
    return root.path(endpoint == Endpoint.RESPONSES ? "input" : "messages");
  }

  private static boolean plain(JsonNode messages) {
    if (messages.isTextual()) {
      return true;
    }
    for (JsonNode message : messages) {
      boolean isMessage = message.path("type").asText("message").equals("message");
      if (!isMessage || !plainContent(message.path("content"))) {
        return false;
      }
    }
    return messages.isArray() && !messages.isEmpty();
  }

  private static boolean plainContent(JsonNode content) {
    for (JsonNode part : content) {
      if (!part.isTextual() && !PLAIN.contains(part.path("type").asText("text"))) {
        return false;
      }
    }
    return !content.isObject();
  }

  /** True if the prompt is one text and not a conversation. */
  boolean oneText() {
    return endpoint == Endpoint.COMPLETIONS;
  }

  /** The path that renders the prompt. */
  String renderPath() {
    return path(endpoint) + "/render";
  }

  /** The body for {@link #renderPath}: the request itself. */
  byte[] renderBody() {
    return body;
  }

  /**
   * The body for {@code /tokenize}, if rendering is not available; null if the result would differ.
   */
  byte @Nullable [] tokenizeBody() {
    boolean chat = endpoint == Endpoint.CHAT_COMPLETIONS;
    if ((!chat && !oneText()) || RENDERED_ONLY.stream().anyMatch(root::hasNonNull)) {
      return null;
    }
    ObjectNode asked = JSON.createObjectNode();
    if (oneText()) {
      if (root.hasNonNull("model")) {
        asked.set("model", root.get("model"));
      }
      asked.set("prompt", text(root.path("prompt")));
      return bytes(asked);
    }
    for (JsonNode message : root.path("messages")) {
      if (message.hasNonNull("tool_calls")) {
        return null;
      }
    }
    for (String name : OF_A_CHAT) {
      if (root.hasNonNull(name)) {
        asked.set(name, root.get(name));
      }
    }
    return bytes(asked);
  }

  /**
   * The request with only its leading system messages, which conversations share; null if there are
   * none or no others.
   */
  byte @Nullable [] beginning() {
    if (endpoint != Endpoint.CHAT_COMPLETIONS) {
      return null;
    }
    JsonNode messages = root.path("messages");
    int leading = 0;
    while (leading < messages.size()
        && LEADING.contains(messages.get(leading).path("role").asText())) {
      leading++;
    }
    return leading == 0 || leading == messages.size() ? null : withMessages(leading);
  }

  /** Cuts the original bytes, because routing keys depend on the way in which text is escaped. */
  private byte @Nullable [] withMessages(int kept) {
    try (JsonParser in = JSON.createParser(body)) {
      in.nextToken();
      while (in.nextToken() == JsonToken.FIELD_NAME) {
        boolean messages = in.currentName().equals("messages");
        if (in.nextToken() != JsonToken.START_ARRAY || !messages) {
          in.skipChildren();
          continue;
        }
        for (int i = 0; i < kept; i++) {
          in.nextToken();
          in.skipChildren();
        }
        int end = (int) in.currentLocation().getByteOffset();
        while (in.nextToken() != JsonToken.END_ARRAY) {
          in.skipChildren();
        }
        int rest = (int) in.currentTokenLocation().getByteOffset();
        byte[] shorter = Arrays.copyOf(body, end + body.length - rest);
        System.arraycopy(body, rest, shorter, end, body.length - rest);
        return shorter;
      }
    } catch (IOException e) {
      throw new IllegalStateException("JSON that was read cannot be read again", e);
    }
    return null;
  }

  private static byte[] bytes(ObjectNode node) {
    try {
      return JSON.writeValueAsBytes(node);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("JSON that was read cannot be written", e);
    }
  }
}
