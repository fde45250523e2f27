package io.pointsman.tool.bench.split;

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

/** Client for sessions. Each request consists of the previous one, its answer, and new words. */
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
   * A complete response.
   *
   * @param ttftNanos time from the request to the first token, in nanoseconds
   * @param nanos time from the request to the end of the stream, in nanoseconds
   */
  record Answer(long ttftNanos, long nanos, String text) {}

  /** Random words of three letters; with its space each is one token and four characters. */
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
   * Sends a request and reads the streamed response.
   *
   * @throws IOException if the response is incomplete or not a 200; the message contains the status
   *     and the start of the error
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

  /** Start of an error response, as one line. */
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
