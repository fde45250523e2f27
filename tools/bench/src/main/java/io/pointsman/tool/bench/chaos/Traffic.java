package io.pointsman.tool.bench.chaos;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Open-loop load at a fixed rate: two streamed chats for every three non-streamed completions.
 * Requests belong to {@value #CONVERSATIONS} conversations and share prefixes within each.
 */
final class Traffic implements AutoCloseable {
  static final String MODEL = "chaos-model";
  static final String STREAM_PATH = "/v1/chat/completions";
  static final String WHOLE_PATH = "/v1/completions";
  private static final int MOST_UNDER_WAY = 5000;
  static final int CONVERSATIONS = 64;
  private static final long NO_END_SECONDS = 60;

  private final String url;
  private final ResultTally tally;
  private final Afflictions afflictions;
  private final Texts texts;
  private final @Nullable Hostile hostile;
  private final SplittableRandom random;
  private final Semaphore free = new Semaphore(MOST_UNDER_WAY);
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(threads).build();

  /**
   * Creates the clients; {@link #run} sends.
   *
   * @param afflictions faults that can explain a stream that ends with an error event
   * @param texts expected texts, for each of {@link #CONVERSATIONS}
   * @param hostile poisons and impatient clients; null for none
   */
  Traffic(
      String url,
      ResultTally tally,
      Afflictions afflictions,
      Texts texts,
      long seed,
      @Nullable Hostile hostile) {
    this.hostile = hostile;
    this.url = url;
    this.tally = tally;
    this.afflictions = afflictions;
    this.texts = texts;
    random = new SplittableRandom(seed);
  }

  /** Sends {@code rate} requests per second until {@code endNanos} of {@link System#nanoTime}. */
  void run(int rate, long endNanos) {
    long pause = TimeUnit.SECONDS.toNanos(1) / rate;
    for (long next = System.nanoTime(); next - endNanos < 0; next += pause) {
      for (long now = System.nanoTime(); now - next < 0; now = System.nanoTime()) {
        LockSupport.parkNanos(next - now);
      }
      send();
    }
  }

  /** Waits until all requests have ended. */
  void awaitEnd() throws InterruptedException {
    free.acquire(MOST_UNDER_WAY);
  }

  /**
   * Properties of a sent request.
   *
   * @param stream true for a streamed chat
   * @param seed seed of the expected text
   * @param words number of requested words
   * @param poison true if it ends the engine that gets it
   */
  private record Asked(boolean stream, int seed, int words, boolean poison) {}

  private void send() {
    boolean stream = random.nextInt(5) < 2;
    int conversation = random.nextInt(CONVERSATIONS);
    int words = stream ? 5 + random.nextInt(Texts.LONGEST - 5) : 1 + random.nextInt(12);
    String poison = hostile == null ? "" : hostile.next();
    int patience = hostile == null || !poison.isEmpty() ? 0 : hostile.patienceMillis();
    Asked asked = new Asked(stream, conversation, words, !poison.isEmpty());
    String prompt =
        "Conversation %d. ".formatted(conversation).repeat(20)
            + "Question "
            + random.nextInt()
            + poison;
    if (!free.tryAcquire()) {
      tally.ended(End.NOT_SENT, stream, 0, "");
      return;
    }
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + (stream ? STREAM_PATH : WHOLE_PATH)))
            .header("content-type", "application/json")
            .POST(
                BodyPublishers.ofString(
                    stream
                        ? stream(prompt, conversation, words)
                        : whole(prompt, conversation, words)))
            .build();
    long start = System.nanoTime();
    AtomicInteger status = new AtomicInteger();
    CompletableFuture<HttpResponse<String>> sent =
        client.sendAsync(
            request,
            head -> {
              status.set(head.statusCode());
              return BodySubscribers.ofString(StandardCharsets.UTF_8);
            });
    if (patience > 0) {
      CompletableFuture.delayedExecutor(patience, TimeUnit.MILLISECONDS)
          .execute(() -> sent.cancel(true));
    }
    var _ =
        sent.orTimeout(NO_END_SECONDS, TimeUnit.SECONDS)
            .whenComplete(
                (answer, error) -> {
                  over(asked, start, status.get(), answer, error);
                  free.release();
                });
  }

  private void over(
      Asked asked,
      long start,
      int status,
      @Nullable HttpResponse<String> answer,
      @Nullable Throwable error) {
    long nanos = System.nanoTime() - start;
    if (answer == null) {
      End end = asked.poison() ? End.POISON_REFUSED : broken(asked.stream(), status, error);
      tally.ended(end, asked.stream(), nanos, status + " " + error);
      return;
    }
    String worker = answer.headers().firstValue("x-pointsman-worker").orElse("nobody");
    String detail = answer.statusCode() + " by " + worker + ": " + answer.body();
    End end = end(asked, answer);
    if (asked.poison()) {
      end = end == End.SERVED ? End.WRONG_ANSWER : End.POISON_REFUSED;
    }
    boolean cut = end == End.STREAM_ENDED_WITH_ERROR || end == End.STREAM_ENDED_AT_ITS_HEAD;
    if (cut && hostile == null && !afflictions.explain(worker, start, start + nanos)) {
      end = End.HEALTHY_STREAM_ENDED;
    }
    tally.ended(end, asked.stream(), nanos, detail);
  }

  private static End broken(boolean stream, int status, @Nullable Throwable error) {
    Throwable cause = error != null && error.getCause() != null ? error.getCause() : error;
    if (cause instanceof TimeoutException) {
      return End.NO_END;
    }
    if (cause instanceof CancellationException) {
      return End.LEFT;
    }
    if (status == 0) {
      return End.NO_ANSWER;
    }
    return stream ? End.STREAM_CUT : End.WHOLE_CUT;
  }

  private End end(Asked asked, HttpResponse<String> answer) {
    String body = answer.body();
    if (answer.statusCode() != 200) {
      return answer.statusCode() >= 500 ? End.SERVER_ERROR : End.OTHER_STATUS;
    }
    if (!asked.stream()) {
      boolean whole = body.endsWith("}") && body.contains("\"choices\"");
      return whole && texts.are(Texts.text(body), asked.seed(), asked.words())
          ? End.SERVED
          : End.WRONG_ANSWER;
    }
    String text = Texts.streamed(body);
    String events = withoutEnd(body);
    String last = events.substring(events.lastIndexOf("data: ") + 1).strip();
    if (last.endsWith("[DONE]")) {
      return texts.are(text, asked.seed(), asked.words()) ? End.SERVED : End.WRONG_ANSWER;
    }
    if (!last.contains("\"error\"")) {
      return End.STREAM_CUT;
    }
    if (!texts.begin(text, asked.seed(), asked.words())) {
      return End.WRONG_ANSWER;
    }
    boolean alone = events.indexOf("data: ") == events.lastIndexOf("data: ");
    return alone ? End.STREAM_ENDED_AT_ITS_HEAD : End.STREAM_ENDED_WITH_ERROR;
  }

  /** The events without the end that an engine sends after its own error event. */
  private static String withoutEnd(String body) {
    String done = "data: [DONE]";
    int end = body.lastIndexOf(done);
    String before = end < 0 ? body : body.substring(0, end);
    boolean failed = before.substring(before.lastIndexOf("data: ") + 1).contains("\"error\"");
    return end >= 0 && failed ? before : body;
  }

  private static String stream(String prompt, int seed, int words) {
    return "{\"model\":\"%s\",\"stream\":true,\"seed\":%d,\"max_tokens\":%d,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
        .formatted(MODEL, seed, words, prompt);
  }

  /** Body of a non-streamed request. */
  static String whole(String prompt, int seed, int words) {
    return "{\"model\":\"%s\",\"seed\":%d,\"max_tokens\":%d,\"prompt\":\"%s\"}"
        .formatted(MODEL, seed, words, prompt);
  }

  @Override
  public void close() {
    client.shutdownNow();
    threads.shutdownNow();
  }
}
