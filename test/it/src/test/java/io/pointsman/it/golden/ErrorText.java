package io.pointsman.it.golden;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import java.io.IOException;
import java.net.SocketException;
import java.util.List;
import java.util.regex.Pattern;

/** Answers of the router as text, without ports, generated ids and waiting times. */
final class ErrorText {
  static final String CHAT = "/v1/chat/completions";
  static final String MESSAGES = "/v1/messages";

  /** The chat paths of OpenAI and of Anthropic. */
  static final List<String> PATHS = List.of(CHAT, MESSAGES);

  private static final Pattern PORT = Pattern.compile("(?<=127\\.0\\.0\\.1:)\\d+");
  private static final Pattern MADE_ID =
      Pattern.compile("(?<![\\w-])(chatcmpl|cmpl|gnt|req)-[A-Za-z0-9]{24}(?!\\w)");
  private static final Pattern WAIT = Pattern.compile("(?<=retry-after: )\\d+");

  private static final Pattern PASSING = Pattern.compile("(?i)content-length: |date: ");

  private final StringBuilder text = new StringBuilder();

  /** A chat of one word; {@code /v1/messages} accepts it too. */
  static String chat(String model, String more) {
    return "{\"model\":\"%s\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]%s}"
        .formatted(model, more);
  }

  /** Sends a request on a connection of its own and adds the answer. */
  ErrorText ask(String title, int port, String method, String target, String body, String... lines)
      throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      client.send(method, target, body.getBytes(UTF_8), List.of(lines));
      return add(title + ": " + method + " " + target, client.read());
    }
  }

  /** Sends a request to each chat path and adds the answers. */
  ErrorText askOnBothPaths(String title, int port, String body, String... lines)
      throws IOException {
    for (String path : PATHS) {
      ask(title, port, "POST", path, body, lines);
    }
    return this;
  }

  /** Sends raw bytes and adds the answer. */
  ErrorText send(String title, int port, String bytes) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      try {
        client.send(bytes.getBytes(ISO_8859_1));
      } catch (SocketException _) {
        // The router can answer and close before it has read all bytes.
      }
      return add(title, client.read());
    }
  }

  /** Adds an answer. */
  ErrorText add(String title, HttpAnswer answer) {
    text.append("== ").append(plain(title)).append('\n').append(answer.status());
    text.append(answer.complete() ? "" : ", broken off").append('\n');
    // Some answers have no fixed order of headers.
    answer.head().headers().stream()
        .map(header -> header.name() + ": " + header.value())
        .filter(line -> !PASSING.matcher(line).lookingAt())
        .sorted()
        .forEach(line -> text.append(plain(line)).append('\n'));
    text.append('\n').append(plain(answer.text()).stripTrailing()).append("\n\n");
    return this;
  }

  /** Adds the answers of another text. */
  ErrorText add(ErrorText more) {
    text.append(more.text);
    return this;
  }

  private static String plain(String said) {
    String plain = PORT.matcher(said).replaceAll("<port>");
    plain = MADE_ID.matcher(plain).replaceAll("$1-<id>");
    return WAIT.matcher(plain).replaceAll("<seconds>");
  }

  /** All answers so far. */
  String text() {
    return text.toString();
  }
}
