package io.pointsman.tool.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.List;

/**
 * Renders a conversation to token ids: for each message a marker of its role, its content, and an
 * end marker. Tools come first, as their JSON. A content part that is not text becomes 64 tokens
 * that depend on the part, so equal images have equal tokens.
 */
public final class ChatTemplate {
  private static final List<String> ROLES =
      List.of("system", "user", "assistant", "tool", "developer", "function", "tools");
  private static final int END = Tokeniser.MARKERS + ROLES.size();
  private static final int OTHER_ROLE = END + 1;
  static final int MEDIA = OTHER_ROLE + 1;

  private final TokenBuffer out = new TokenBuffer(256);

  private ChatTemplate() {}

  /**
   * Renders the chat of a request.
   *
   * @param tools the {@code tools} field; a missing or null node renders nothing
   * @param system the {@code system} or {@code instructions} field of the APIs that have one;
   *     missing renders nothing
   * @param messages an array of messages, or a plain string as one user message
   * @param history ids that the conversation continues; empty for a new one
   * @return at least one id
   */
  public static int[] render(JsonNode tools, JsonNode system, JsonNode messages, int[] history) {
    ChatTemplate chat = new ChatTemplate();
    for (int id : history) {
      chat.out.add(id);
    }
    if (!tools.isMissingNode() && !tools.isNull()) {
      chat.block("tools", tools);
    }
    if (!system.isMissingNode() && !system.isNull()) {
      chat.block("system", system);
    }
    if (messages.isArray()) {
      messages.forEach(chat::message);
    } else {
      chat.block("user", messages);
    }
    chat.out.add(marker("assistant"));
    return chat.out.toArray();
  }

  static String markerText(int id) {
    int index = id - Tokeniser.MARKERS;
    if (index < ROLES.size()) {
      return "<|" + ROLES.get(index) + "|>";
    }
    if (id == END) {
      return "<|end|>";
    }
    return id == OTHER_ROLE ? "<|other|>" : "<|media|>";
  }

  private static int marker(String role) {
    int index = ROLES.indexOf(role);
    return index < 0 ? OTHER_ROLE : Tokeniser.MARKERS + index;
  }

  private void message(JsonNode message) {
    if (!message.isObject()) {
      block("user", message);
      return;
    }
    out.add(marker(message.path("role").asText("user")));
    content(message.path("content"));
    for (String extra : List.of("tool_calls", "tool_call_id", "name", "arguments", "output")) {
      JsonNode value = message.path(extra);
      if (!value.isMissingNode() && !value.isNull()) {
        content(value);
      }
    }
    out.add(END);
  }

  private void block(String role, JsonNode content) {
    out.add(marker(role));
    content(content);
    out.add(END);
  }

  private void content(JsonNode content) {
    if (content.isTextual()) {
      Tokeniser.encode(content.textValue(), out);
    } else if (content.isArray()) {
      content.forEach(this::part);
    } else if (!content.isNull() && !content.isMissingNode()) {
      Tokeniser.encode(content.toString(), out);
    }
  }

  private void part(JsonNode part) {
    if (part.isTextual()) {
      Tokeniser.encode(part.textValue(), out);
      return;
    }
    JsonNode text = part.path("text");
    if (text.isTextual()) {
      Tokeniser.encode(text.textValue(), out);
    } else if (part.path("type").asText("").matches(".*(image|audio|video|file).*")) {
      String content = part.toString();
      for (int i = 0; i < Media.TOKENS; i++) {
        out.add(Media.id(content, i));
      }
    } else {
      Tokeniser.encode(part.toString(), out);
    }
  }
}
