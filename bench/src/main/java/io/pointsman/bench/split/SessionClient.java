package io.pointsman.bench.split;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Iterator;
import java.util.Random;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Plays sessions: each request is the one before, its answer and something new. */
final class SessionClient implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final int LETTERS = 26;
  private static final int MOST_ERROR_LINES = 10;
  private static final int MOST_ERROR_CHARS = 300;

  private final URI url;
  private final String model;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();

  SessionClient(String base, String model) {
    url = URI.create(base + "/v1/completions");
    this.model = model;
  }

  /**
   * An answer.
   *
   * @param ttftNanos from the request to the first token
   * @param nanos to the last one
   */
  record Answer(long ttftNanos, long nanos, String text) {}

  /** So many words of three letters, which are a token and four characters each. */
  static String words(int count, Random random) {
    StringBuilder text = new StringBuilder(4 * count);
    for (int i = 0; i < count; i++) {
      text.append(' ');
      for (int letter = 0; letter < 3; letter++) {
        text.append((char) ('a' + random.nextInt(LETTERS)));
      }
    }
    return text.toString();
  }

  /**
   * Asks.
   *
   * @throws IOException if there is no whole answer with status 200; its message has the status and
   *     the beginning of the error
   */
  Answer ask(String prompt, int output) throws IOException, InterruptedException {
    String body =
        JSON.createObjectNode()
            .put("model", model)
            .put("prompt", prompt)
            .put("max_tokens", output)
            .put("stream", true)
            .toString();
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .timeout(PATIENCE)
            .header("content-type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    long begin = System.nanoTime();
    HttpResponse<Stream<String>> response = http.send(request, BodyHandlers.ofLines());
    try (Stream<String> lines = response.body()) {
      if (response.statusCode() != 200) {
        throw new IOException("status " + response.statusCode() + ": " + start(lines));
      }
      return read(lines.iterator(), begin);
    }
  }

  /** What an error says, as far as it fits on a line. */
  private static String start(Stream<String> lines) {
    String text = lines.limit(MOST_ERROR_LINES).collect(Collectors.joining(" ")).strip();
    return text.substring(0, Math.min(text.length(), MOST_ERROR_CHARS));
  }

  private static Answer read(Iterator<String> lines, long begin) throws IOException {
    StringBuilder text = new StringBuilder();
    long first = -1;
    while (lines.hasNext()) {
      String line = lines.next();
      if (line.equals("data: [DONE]")) {
        return new Answer(first, System.nanoTime() - begin, text.toString());
      }
      if (line.startsWith("data: ")) {
        String token =
            JSON.readTree(line.substring(6)).path("choices").path(0).path("text").asText("");
        if (first < 0 && !token.isEmpty()) {
          first = System.nanoTime() - begin;
        }
        text.append(token);
      }
    }
    throw new IOException("the stream ended before its end");
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
