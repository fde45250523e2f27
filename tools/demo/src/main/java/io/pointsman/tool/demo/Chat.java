package io.pointsman.tool.demo;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The messages of one conversation. Used by one thread at a time, see {@link DemoChats}. */
final class Chat {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final String id;
  private final List<Map<String, String>> messages = new ArrayList<>();

  Chat(String id, String systemPrompt) {
    this.id = id;
    say("system", systemPrompt);
  }

  void say(String role, String content) {
    messages.add(Map.of("role", role, "content", content));
  }

  /** Number of user messages. */
  int turns() {
    return (int) messages.stream().filter(m -> "user".equals(m.get("role"))).count();
  }

  /** The body of a streaming request to {@code /v1/chat/completions}. */
  String request(String model, int maxTokens) {
    Map<String, Object> body =
        Map.of(
            "model", model,
            "stream", true,
            "stream_options", Map.of("include_usage", true),
            "max_tokens", maxTokens,
            "user", id,
            "messages", messages);
    try {
      return JSON.writeValueAsString(body);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
