package io.pointsman.tool.demo;

import io.pointsman.engine.env.RandomSource;
import java.util.ArrayList;
import java.util.List;

/**
 * Simulated users: several applications, each with a long system prompt shared by its chats. Chats
 * grow turn by turn. Thread-safe.
 */
final class DemoChats {
  /** Approximate number of concurrent chats. */
  private static final int CHATS = 24;

  private static final int MOST_TURNS = 8;
  private static final int SYSTEM_WORDS = 2500;
  private static final List<String> APPLICATIONS =
      List.of(
          "support desk",
          "code review",
          "travel agency",
          "contract desk",
          "recipe book",
          "language school",
          "music shop",
          "city library",
          "tax office",
          "garden centre",
          "night pharmacy",
          "bike workshop",
          "train station",
          "wine cellar",
          "school kitchen",
          "film archive");

  private final RandomSource random;
  private final List<String> systemPrompts;
  private final List<Chat> idle = new ArrayList<>();
  private int begun;

  DemoChats(RandomSource random) {
    this.random = random;
    systemPrompts =
        APPLICATIONS.stream()
            .map(name -> "You are the assistant of the " + name + ". " + prose(SYSTEM_WORDS))
            .toList();
  }

  /** The next chat with a new user message: a new chat, or one with a complete response. */
  synchronized Chat speak() {
    boolean fresh = idle.isEmpty() || random.roll(CHATS) >= idle.size();
    Chat chat =
        fresh
            ? new Chat("chat-" + begun++, systemPrompts.get(random.roll(systemPrompts.size())))
            : idle.remove(random.roll(idle.size()));
    chat.say("user", "Turn " + chat.turns() + ": " + prose(60 + random.roll(240)));
    return chat;
  }

  /** Adds the response to a chat, which then continues later or ends. */
  synchronized void answered(Chat chat, String answer) {
    chat.say("assistant", answer);
    if (chat.turns() < MOST_TURNS && random.roll(MOST_TURNS) > 0) {
      idle.add(chat);
    }
  }

  private String prose(int words) {
    StringBuilder text = new StringBuilder(words * 7);
    for (int i = 0; i < words; i++) {
      text.append(Vocabulary.ALL.get(random.roll(Vocabulary.ALL.size())));
      text.append(i % 12 == 11 ? ". " : " ");
    }
    return text.toString();
  }

  /** The vocabulary of prompts. */
  private static final class Vocabulary {
    static final List<String> ALL =
        List.of(
            ("the order shows that a customer may return what was bought when it came too late and"
                    + " we always answer in short plain words with the number of the case before"
                    + " any advice is given so please read each line of the file twice check the"
                    + " date against the table ask for missing names never guess prices keep notes"
                    + " of every change explain why it matters compare both versions list open"
                    + " questions first then propose one next step for tomorrow")
                .split(" "));
  }
}
