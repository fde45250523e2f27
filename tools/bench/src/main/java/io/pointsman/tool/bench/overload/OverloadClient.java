package io.pointsman.tool.bench.overload;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

/**
 * A client that streams completions of equal size.
 *
 * @param address address by which the router knows it, in {@code X-Forwarded-For}
 * @param priority value of {@code x-pointsman-priority}
 */
record OverloadClient(HttpClient http, URI target, String address, String priority, Shape shape) {
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final int MOST_IDS = 30_000;

  /** Maximum number of requests in progress. Further ones of the schedule count as failed. */
  private static final int MOST_OPEN = 2_000;

  /**
   * Size of each request.
   *
   * @param prompt tokens of the prompt
   * @param answer tokens of the answer
   */
  record Shape(int prompt, int answer) {}

  /**
   * Sends requests at random times, even if earlier ones have not ended. Returns when all have.
   *
   * @param perSecond mean rate
   */
  ClientResult open(double perSecond, double seconds, ExecutorService threads, long seed) {
    Random random = new Random(seed);
    Semaphore places = new Semaphore(MOST_OPEN);
    long begin = System.nanoTime();
    ClientResult result = new ClientResult(begin + (long) (seconds * 1e9));
    double due = 0;
    while (true) {
      due -= Math.log(1 - random.nextDouble()) / perSecond;
      if (due >= seconds) {
        places.acquireUninterruptibly(MOST_OPEN);
        return result;
      }
      sleepUntil(begin + (long) (due * 1e9));
      String body = body(random);
      result.sent();
      if (!places.tryAcquire()) {
        result.failed();
        continue;
      }
      threads.execute(
          () -> {
            try {
              ask(body, result);
            } finally {
              places.release();
            }
          });
    }
  }

  /** Sends requests one after the other. */
  void closed(double seconds, ClientResult result, long seed) {
    Random random = new Random(seed);
    long end = System.nanoTime() + (long) (seconds * 1e9);
    while (System.nanoTime() < end) {
      result.sent();
      ask(body(random), result);
    }
  }

  private static void sleepUntil(long nanos) {
    for (long left = nanos - System.nanoTime(); left > 0; left = nanos - System.nanoTime()) {
      LockSupport.parkNanos(Math.min(left, TimeUnit.MILLISECONDS.toNanos(100)));
    }
  }

  private String body(Random random) {
    String ids =
        random
            .ints(shape.prompt(), 0, MOST_IDS)
            .mapToObj(Integer::toString)
            .collect(Collectors.joining(",", "[", "]"));
    return "{\"model\":\"%s\",\"prompt\":%s,\"max_tokens\":%d,\"stream\":true}"
        .formatted(Overload.MODEL, ids, shape.answer());
  }

  private void ask(String body, ClientResult result) {
    HttpRequest request =
        HttpRequest.newBuilder(target)
            .header("content-type", "application/json")
            .header("x-forwarded-for", address)
            .header("x-pointsman-priority", priority)
            .timeout(PATIENCE)
            .POST(BodyPublishers.ofString(body))
            .build();
    long begin = System.nanoTime();
    try {
      HttpResponse<InputStream> answer = http.send(request, BodyHandlers.ofInputStream());
      try (InputStream in = answer.body()) {
        if (answer.statusCode() == 200) {
          boolean begun = in.read() >= 0;
          double first = (System.nanoTime() - begin) / 1e9;
          String rest = new String(in.readAllBytes(), UTF_8);
          if (begun && rest.contains("[DONE]")) {
            result.served(first);
          } else {
            result.failed();
          }
        } else if (answer.statusCode() == 429 || answer.statusCode() == 503) {
          in.readAllBytes();
          boolean reason = answer.headers().firstValue("x-pointsman-shed-reason").isPresent();
          result.shed(reason && answer.headers().firstValue("retry-after").isPresent());
        } else {
          in.readAllBytes();
          result.failed();
        }
      }
    } catch (IOException e) {
      result.failed();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      result.failed();
    }
  }
}
