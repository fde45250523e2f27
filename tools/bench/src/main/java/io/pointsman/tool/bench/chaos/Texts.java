package io.pointsman.tool.bench.chaos;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * The expected texts of the engines. A text depends only on the request's seed. One healthy engine
 * is therefore asked for every text before the first fault.
 */
final class Texts {
  /** Number of words of the longest text that can be checked. */
  static final int LONGEST = 40;

  private static final String TEXT = "\"text\":\"";
  private static final String DELTA = "\"delta\":{\"content\":\"";

  private final List<String> bySeed;

  Texts(List<String> bySeed) {
    this.bySeed = List.copyOf(bySeed);
  }

  /**
   * Asks an engine for the texts of the seeds from 0 on.
   *
   * @param seeds number of seeds
   * @throws IOException if the engine does not answer, or an answer has the wrong length
   */
  static Texts of(String engine, int seeds) throws IOException {
    List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
    List<String> texts = new ArrayList<>();
    try (HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
      for (int seed = 0; seed < seeds; seed++) {
        HttpRequest request =
            HttpRequest.newBuilder(URI.create(engine + Traffic.WHOLE_PATH))
                .header("content-type", "application/json")
                .POST(BodyPublishers.ofString(Traffic.whole("What?", seed, LONGEST)))
                .build();
        answers.add(client.sendAsync(request, BodyHandlers.ofString()));
      }
      for (CompletableFuture<HttpResponse<String>> answer : answers) {
        texts.add(text(answer.join().body()));
      }
    } catch (CompletionException e) {
      throw new IOException(engine + ": does not answer", e);
    }
    for (String text : texts) {
      if (text.split(" ", -1).length != LONGEST) {
        throw new IOException(engine + ": " + text + " (expected: " + LONGEST + " words)");
      }
    }
    return new Texts(texts);
  }

  /** Text of a non-streamed response; empty if it contains none. */
  static String text(String body) {
    int at = body.indexOf(TEXT);
    return at < 0 ? "" : body.substring(at + TEXT.length(), body.indexOf('"', at + TEXT.length()));
  }

  /** Text of a stream's events. An event that ends within its text adds nothing. */
  static String streamed(String body) {
    StringBuilder text = new StringBuilder();
    for (int at = body.indexOf(DELTA); at >= 0; at = body.indexOf(DELTA, at + 1)) {
      int end = body.indexOf('"', at + DELTA.length());
      int line = body.indexOf('\n', at);
      if (end >= 0 && (line < 0 || end < line)) {
        text.append(body, at + DELTA.length(), end);
      }
    }
    return text.toString();
  }

  /**
   * True if the text is exactly the expected one.
   *
   * @param words number of requested words
   */
  boolean are(String text, int seed, int words) {
    return text.equals(first(seed, words));
  }

  /** True if the expected text starts with {@code text}. */
  boolean begin(String text, int seed, int words) {
    return first(seed, words).startsWith(text);
  }

  private String first(int seed, int words) {
    return String.join(" ", List.of(bySeed.get(seed).split(" ", -1)).subList(0, words));
  }
}
