package io.pointsman.tool.demo;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.testkit.ScriptedRandomSource;
import java.io.IOException;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Set;
import org.junit.jupiter.api.Test;

class DemoChatsTest {
  private final DemoChats conversations = new DemoChats(ScriptedRandomSource.seeded(3)::roll);

  private static JsonNode json(Chat chat) throws IOException {
    return new ObjectMapper().readTree(chat.request("m", 16));
  }

  @Test
  void aChatGrowsTurnByTurnAndKeepsItsMessages() throws IOException {
    IdentityHashMap<Chat, String> before = new IdentityHashMap<>();
    int grown = 0;
    for (int i = 0; i < 300; i++) {
      Chat chat = conversations.speak();
      String messages = json(chat).path("messages").toString();
      String earlier = before.put(chat, messages.substring(0, messages.length() - 1));
      if (earlier != null) {
        assertThat(messages).startsWith(earlier);
        grown++;
      }
      conversations.answered(chat, "answer " + i);
    }
    assertThat(grown).isGreaterThan(100);
  }

  @Test
  void chatsOfOneApplicationShareTheirSystemPrompt() throws IOException {
    Set<String> systemPrompts = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      systemPrompts.add(json(conversations.speak()).path("messages").path(0).toString());
    }
    assertThat(systemPrompts).hasSizeBetween(2, 16);
  }

  @Test
  void chatsEnd() {
    for (int i = 0; i < 2000; i++) {
      Chat chat = conversations.speak();
      assertThat(chat.turns()).isBetween(1, 8);
      conversations.answered(chat, "answer");
    }
  }

  @Test
  void aRequestAsksForAStream() throws IOException {
    JsonNode request = json(conversations.speak());
    assertThat(request.path("stream").asBoolean()).isTrue();
    assertThat(request.path("model").asText()).isEqualTo("m");
    assertThat(request.path("max_tokens").asInt()).isEqualTo(16);
  }
}
