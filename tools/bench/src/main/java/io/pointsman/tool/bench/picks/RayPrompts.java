package io.pointsman.tool.bench.picks;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Chats as in Ray's router benchmark: prompts of 1,024 characters, which begin with one of eight
 * system prompts of 768.
 */
final class RayPrompts {
  private static final int PROMPTS = 4096;
  private static final int SYSTEMS = 8;
  private static final int SYSTEM_LENGTH = 768;
  private static final int LENGTH = 1024;
  private static final String LETTERS = "abcdefghijklmnopqrstuvwxyz ";

  private RayPrompts() {}

  /** The bodies; identical for each call. */
  static List<String> chats(String model) {
    Random random = new Random(0);
    List<String> systems = new ArrayList<>();
    for (int i = 0; i < SYSTEMS; i++) {
      systems.add(text(SYSTEM_LENGTH, random));
    }
    List<String> chats = new ArrayList<>();
    for (int i = 0; i < PROMPTS; i++) {
      chats.add(
          """
          {"model":"%s","max_tokens":1,"messages":[{"role":"system","content":"%s"},\
          {"role":"user","content":"%s"}]}\
          """
              .formatted(model, systems.get(i % SYSTEMS), text(LENGTH - SYSTEM_LENGTH, random)));
    }
    return chats;
  }

  private static String text(int length, Random random) {
    StringBuilder text = new StringBuilder(length);
    for (int i = 0; i < length; i++) {
      text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
    }
    return text.toString();
  }

  /** Requests of one way, one per body. */
  static List<byte[]> requests(PickMethod way, List<String> chats) {
    String path =
        switch (way) {
          case DECIDE, LEASE -> "/v1/decide";
          case ROUTE -> "/internal/route";
          case DIRECT, PROXY, HAPROXY, HAPROXY_SPOE -> "/v1/chat/completions";
        };
    return chats.stream().map(chat -> request(path, body(way, chat))).toList();
  }

  private static String body(PickMethod way, String chat) {
    return switch (way) {
      case DECIDE -> "{\"reserve\":false,\"body\":" + chat + "}";
      case LEASE -> "{\"body\":" + chat + "}";
      case DIRECT, PROXY, ROUTE, HAPROXY, HAPROXY_SPOE -> chat;
    };
  }

  static byte[] request(String path, String body) {
    int length = body.getBytes(UTF_8).length;
    return ("POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            + "content-length: %d\r\n\r\n%s")
        .formatted(path, length, body)
        .getBytes(UTF_8);
  }
}
