package io.pointsman.batch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.proxy.quota.ClientLimit;
import java.io.IOException;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requests of batches, one for each line: attempts, and the result as a line of a file. */
final class LineRequests {
  private static final Logger LOG = LoggerFactory.getLogger(LineRequests.class);

  /** Statuses of a fleet that has no room for the moment. Such requests wait. */
  private static final Set<Integer> PATIENT = Set.of(429, 503);

  /**
   * Limits of a client that end its requests. The others pass soon, so requests wait for them. A
   * budget of the day may not return before the batch expires, and its client should learn that.
   */
  private static final Set<String> ENDING =
      Set.of(ClientLimit.REQUESTS_PER_DAY.label(), ClientLimit.TOKENS_PER_DAY.label());

  private static final long LONGEST_WAIT = 60;

  /** The batch of a line. */
  interface Progress {
    /** True if no further attempt is made. */
    boolean halted();

    /** The thread of the line begins to wait for a limit of the client. */
    void waits(long millis);

    /** The thread of the line ends such a wait. */
    void goesOn();
  }

  /** A wait. */
  interface Sleeper {
    void sleep(long millis) throws InterruptedException;
  }

  private final BatchStore store;
  private final Supplier<BatchSettings> settings;
  private final LineCaller caller;
  private final BatchClients clients;
  private final InstantSource clock;
  private final Sleeper sleeper;

  /** Requests on the wire. A request that waits for its next attempt has no slot. */
  private final Slots slots;

  /**
   * @param settings may change; the next attempt has the new ones
   */
  LineRequests(
      BatchStore store,
      Supplier<BatchSettings> settings,
      LineCaller caller,
      BatchClients clients,
      InstantSource clock,
      Sleeper sleeper) {
    this.store = store;
    this.settings = settings;
    this.caller = caller;
    this.clients = clients;
    this.clock = clock;
    this.sleeper = sleeper;
    slots = new Slots(() -> settings.get().parallelism(), true);
  }

  /** Follows changed settings. */
  void follow() {
    slots.follow();
  }

  /**
   * Sends the request of a line until it has a result, and stores the result. Without a result it
   * ends if the batch expires or is halted.
   *
   * @throws RuntimeException if the result cannot be stored
   */
  void send(Batch batch, int number, String line, Progress progress) {
    try {
      JsonNode request = Answers.MAPPER.readTree(line);
      attempts(batch, number, request, progress);
    } catch (InterruptedException e) {
      LOG.debug("line {} of batch {} was interrupted", number, batch.id());
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("line " + number + " has changed since its check", e);
    }
  }

  /**
   * The end of an attempt.
   *
   * @param answer null if there is none
   * @param problem code of the missing answer
   * @param patient true if the request is tried until the batch expires
   */
  private record AttemptEnd(LineCaller.@Nullable Answer answer, String problem, boolean patient) {
    /**
     * @param failures number of failed attempts, with this one; patient ones do not count
     */
    boolean again(int failures, int most) {
      LineCaller.Answer answer = this.answer;
      boolean fails = answer == null || answer.status() >= 500 || answer.status() == 408;
      return patient || (fails && failures < most);
    }

    /** True if a limit of the client refused the request. */
    boolean limited() {
      LineCaller.Answer answer = this.answer;
      return answer != null && answer.limit() != null;
    }
  }

  private void attempts(Batch batch, int number, JsonNode request, Progress progress)
      throws InterruptedException {
    String body = Answers.text(request.path("body"));
    int failures = 0;
    for (int attempt = 1; !progress.halted() && left(batch).isPositive(); attempt++) {
      AttemptEnd made;
      slots.acquire();
      try {
        made = attempt(batch, number, body);
      } finally {
        slots.release();
      }
      if (!made.patient()) {
        failures++;
      }
      if (!made.again(failures, settings.get().attempts())) {
        if (!progress.halted()) {
          ended(batch, number, request, made.answer, made.problem);
        }
        return;
      }
      long left = Math.max(1, left(batch).toSeconds());
      long millis = 1000 * Math.min(wait(made.answer, attempt), left);
      if (made.limited()) {
        progress.waits(millis);
        try {
          sleep(millis);
        } finally {
          progress.goesOn();
        }
      } else {
        sleep(millis);
      }
    }
  }

  /** Waits. */
  void sleep(long millis) throws InterruptedException {
    sleeper.sleep(millis);
  }

  private Duration left(Batch batch) {
    return Duration.between(clock.instant(), Instant.ofEpochSecond(batch.expiresAt()));
  }

  private AttemptEnd attempt(Batch batch, int number, String body) throws InterruptedException {
    Duration left = left(batch);
    Duration most = settings.get().requestTimeout();
    Duration limit = left.compareTo(most) < 0 ? left : most;
    if (!limit.isPositive()) {
      return new AttemptEnd(null, "timeout", true);
    }
    try {
      LineCaller.Answer answer =
          caller.post(batch.endpoint(), id(batch, number), clients.secret(batch), body, limit);
      String reached = answer.limit();
      boolean ends = reached != null && ENDING.contains(reached);
      return new AttemptEnd(answer, "", PATIENT.contains(answer.status()) && !ends);
    } catch (HttpTimeoutException e) {
      return new AttemptEnd(null, "timeout", false);
    } catch (IOException e) {
      LOG.debug("line {} of batch {}: {}", number, batch.id(), e.toString());
      return new AttemptEnd(null, "connection_failed", true);
    }
  }

  /** Seconds before the next attempt. */
  private static long wait(LineCaller.@Nullable Answer answer, int attempt) {
    String seconds = answer == null ? null : answer.retryAfter();
    if (seconds != null && seconds.matches("\\d{1,6}")) {
      return Math.clamp(Long.parseLong(seconds), 1, LONGEST_WAIT);
    }
    return Math.min(LONGEST_WAIT, 1L << Math.min(attempt - 1, 5));
  }

  private void ended(
      Batch batch,
      int number,
      JsonNode request,
      LineCaller.@Nullable Answer answer,
      String problem) {
    ObjectNode result = result(batch, number, request);
    boolean failed = true;
    if (answer == null) {
      error(result, problem, "the request has no answer");
    } else if (answer.body() == null) {
      error(
          result,
          "answer_too_large",
          "the answer has more than " + LineCaller.MOST_BYTES + " bytes");
    } else {
      failed = answer.status() / 100 != 2;
      ObjectNode response = result.putObject("response");
      response.put("status_code", answer.status());
      response.put("request_id", answer.requestId());
      response.set("body", document(answer.body()));
    }
    store.add(batch, number, failed, Answers.text(result));
  }

  /** Stores the result of a line that was not sent in time. */
  void expired(Batch batch, int number, String line) {
    try {
      ObjectNode result = result(batch, number, Answers.MAPPER.readTree(line));
      error(result, "batch_expired", "the request was not completed in the completion window");
      store.add(batch, number, true, Answers.text(result));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("line " + number + " has changed since its check", e);
    }
  }

  private static String id(Batch batch, int number) {
    return batch.id() + "-" + number;
  }

  private static ObjectNode result(Batch batch, int number, JsonNode request) {
    ObjectNode result = Answers.object();
    result.put("id", "batch_req_" + batch.id().substring("batch_".length()) + "-" + number);
    result.put("custom_id", request.path("custom_id").asText());
    result.putNull("response");
    result.putNull("error");
    return result;
  }

  private static void error(ObjectNode result, String code, String message) {
    ObjectNode error = result.putObject("error");
    error.put("code", code);
    error.put("message", message);
  }

  /** The body as a document, or as a text if it is none. */
  private static JsonNode document(String body) {
    try {
      return Answers.MAPPER.readTree(body);
    } catch (JsonProcessingException e) {
      return Answers.MAPPER.getNodeFactory().textNode(body);
    }
  }
}
