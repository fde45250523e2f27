package io.pointsman.tool.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.env.Ticker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.Executors;
import java.util.stream.Stream;

/** Sends chats to the router over sockets and reads the streamed responses. */
final class ChatClient implements AutoCloseable {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final URI url;
  private final Ticker ticker;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .executor(Executors.newVirtualThreadPerTaskExecutor())
          .build();

  ChatClient(String baseUrl, Ticker ticker) {
    url = URI.create(baseUrl + "/v1/chat/completions");
    this.ticker = ticker;
  }

  /**
   * A complete response.
   *
   * @param worker serving worker, from the router's header
   * @param ttftNanos time from the request to the first token
   */
  record Answer(String worker, long ttftNanos, String text) {}

  /**
   * Sends one request.
   *
   * @throws IOException if there is no complete response with status 200
   */
  Answer send(String body) throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(url)
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    long begin = ticker.nanos();
    HttpResponse<Stream<String>> response = http.send(request, HttpResponse.BodyHandlers.ofLines());
    try (Stream<String> lines = response.body()) {
      if (response.statusCode() != 200) {
        throw new IOException("status " + response.statusCode());
      }
      String worker = response.headers().firstValue("x-pointsman-worker").orElse("?");
      return read(lines.iterator(), worker, begin);
    } catch (UncheckedIOException e) {
      throw new IOException("the response ended early", e);
    }
  }

  private Answer read(Iterator<String> lines, String worker, long begin) throws IOException {
    StringBuilder text = new StringBuilder();
    long ttft = -1;
    while (lines.hasNext()) {
      String line = lines.next();
      if (line.equals("data: [DONE]")) {
        return new Answer(worker, ttft, text.toString());
      }
      if (line.startsWith("data: ")) {
        String token = content(line.substring("data: ".length()));
        if (ttft < 0 && !token.isEmpty()) {
          ttft = ticker.nanos() - begin;
        }
        text.append(token);
      }
    }
    throw new IOException("the stream ended early");
  }

  private static String content(String chunk) throws IOException {
    return JSON.readTree(chunk).path("choices").path(0).path("delta").path("content").asText("");
  }

  /** Aborts the requests in progress. */
  @Override
  public void close() {
    http.shutdownNow();
  }
}
