package io.pointsman.bench.chaos;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodySubscribers;
import java.nio.charset.StandardCharsets;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Requests at a fixed rate, whatever becomes of the earlier ones: two streamed chats for every
 * three whole completions, of some conversations with shared beginnings.
 */
final class Traffic implements AutoCloseable {
  static final String MODEL = "chaos-model";
  static final String STREAM_PATH = "/v1/chat/completions";
  private static final String WHOLE_PATH = "/v1/completions";
  private static final int MOST_UNDER_WAY = 5000;
  private static final int CONVERSATIONS = 64;
  private static final long NO_END_SECONDS = 60;

  private final String url;
  private final Tally tally;
  private final Afflictions afflictions;
  private final SplittableRandom dice;
  private final Semaphore free = new Semaphore(MOST_UNDER_WAY);
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).executor(threads).build();

  /**
   * @param afflictions what can explain a stream that ends with an error event
   */
  Traffic(String url, Tally tally, Afflictions afflictions, long seed) {
    this.url = url;
    this.tally = tally;
    this.afflictions = afflictions;
    dice = new SplittableRandom(seed);
  }

  /** Sends {@code rate} requests a second until {@code endNanos} of {@link System#nanoTime}. */
  void run(int rate, long endNanos) {
    long pause = TimeUnit.SECONDS.toNanos(1) / rate;
    for (long next = System.nanoTime(); next - endNanos < 0; next += pause) {
      for (long now = System.nanoTime(); now - next < 0; now = System.nanoTime()) {
        LockSupport.parkNanos(next - now);
      }
      send();
    }
  }

  /** Waits until everything that was sent is over. */
  void awaitEnd() throws InterruptedException {
    free.acquire(MOST_UNDER_WAY);
  }

  private void send() {
    boolean stream = dice.nextInt(5) < 2;
    String body = body(stream);
    if (!free.tryAcquire()) {
      tally.ended(End.NOT_SENT, stream, 0, "");
      return;
    }
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(url + (stream ? STREAM_PATH : WHOLE_PATH)))
            .header("content-type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build();
    long start = System.nanoTime();
    AtomicInteger status = new AtomicInteger();
    var _ =
        client
            .sendAsync(
                request,
                head -> {
                  status.set(head.statusCode());
                  return BodySubscribers.ofString(StandardCharsets.UTF_8);
                })
            .orTimeout(NO_END_SECONDS, TimeUnit.SECONDS)
            .whenComplete(
                (answer, error) -> {
                  over(stream, start, status.get(), answer, error);
                  free.release();
                });
  }

  private void over(
      boolean stream,
      long start,
      int status,
      @Nullable HttpResponse<String> answer,
      @Nullable Throwable error) {
    long nanos = System.nanoTime() - start;
    if (answer == null) {
      tally.ended(broken(stream, status, error), stream, nanos, status + " " + error);
      return;
    }
    String worker = answer.headers().firstValue("x-pointsman-worker").orElse("nobody");
    String detail = answer.statusCode() + " by " + worker + ": " + answer.body();
    End end = end(stream, answer);
    boolean cut = end == End.STREAM_ENDED_WITH_ERROR || end == End.STREAM_ENDED_AT_ITS_HEAD;
    if (cut && !afflictions.explain(worker, start, start + nanos)) {
      end = End.HEALTHY_STREAM_ENDED;
    }
    tally.ended(end, stream, nanos, detail);
  }

  private static End broken(boolean stream, int status, @Nullable Throwable error) {
    Throwable cause = error != null && error.getCause() != null ? error.getCause() : error;
    if (cause instanceof TimeoutException) {
      return End.NO_END;
    }
    if (status == 0) {
      return End.NO_ANSWER;
    }
    return stream ? End.STREAM_CUT : End.WHOLE_CUT;
  }

  private static End end(boolean stream, HttpResponse<String> answer) {
    String body = answer.body();
    if (answer.statusCode() != 200) {
      return answer.statusCode() >= 500 ? End.SERVER_ERROR : End.OTHER_STATUS;
    }
    if (!stream) {
      return body.endsWith("}") && body.contains("\"choices\"") ? End.SERVED : End.WRONG_ANSWER;
    }
    String last = body.substring(body.lastIndexOf("data: ") + 1).strip();
    if (last.endsWith("[DONE]")) {
      return End.SERVED;
    }
    if (!last.contains("\"error\"")) {
      return End.STREAM_CUT;
    }
    boolean alone = body.indexOf("data: ") == body.lastIndexOf("data: ");
    return alone ? End.STREAM_ENDED_AT_ITS_HEAD : End.STREAM_ENDED_WITH_ERROR;
  }

  private String body(boolean stream) {
    int conversation = dice.nextInt(CONVERSATIONS);
    String prompt =
        "Conversation %d. ".formatted(conversation).repeat(20) + "Question " + dice.nextInt();
    if (stream) {
      return "{\"model\":\"%s\",\"stream\":true,\"max_tokens\":%d,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
          .formatted(MODEL, 5 + dice.nextInt(35), prompt);
    }
    return "{\"model\":\"%s\",\"max_tokens\":%d,\"prompt\":\"%s\"}"
        .formatted(MODEL, 1 + dice.nextInt(12), prompt);
  }

  @Override
  public void close() {
    client.shutdownNow();
    threads.shutdownNow();
  }
}
