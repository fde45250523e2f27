package io.pointsman.batch;

import static io.pointsman.batch.BatchRig.line;
import static io.pointsman.batch.BatchRig.ok;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import io.pointsman.testkit.Await;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@SuppressWarnings("StringConcatToTextBlock") // line ends matter
@Timeout(120)
class BatchRunnerTest {
  @TempDir Path directory;

  private static String id(String body) throws IOException {
    return Answers.MAPPER.readTree(body).path("id").asText();
  }

  private static String counts(JsonNode batch) {
    JsonNode counts = batch.path("request_counts");
    return counts.path("completed").asInt()
        + "+"
        + counts.path("failed").asInt()
        + "/"
        + counts.path("total").asInt();
  }

  @Test
  void eachRequestHasItsResultInOneOfTwoFiles() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.script =
          body ->
              id(body).equals("b")
                  ? BatchRig.answer(400, "{\"error\":{\"message\":\"no\"}}")
                  : ok("{\"of\":\"" + id(body) + "\"}");
      String input = rig.file(line("a") + "\n" + line("b") + line("c"));
      String batch = rig.batch(input, ",\"metadata\":{\"k\":\"v\"}");

      JsonNode done = rig.await(batch, "completed");
      assertThat(counts(done)).isEqualTo("2+1/3");
      assertThat(done.at("/metadata/k").asText()).isEqualTo("v");
      assertThat(done.path("completion_window").asText()).isEqualTo("24h");
      assertThat(done.path("expires_at").asLong()).isEqualTo(1_000_000 + 86_400);
      assertThat(done.path("completed_at").asLong()).isEqualTo(1_000_000);
      assertThat(done.path("failed_at").isNull()).isTrue();
      String[] lines = rig.content(done.path("output_file_id")).split("\n", -1);
      assertThat(lines).hasSize(3);
      JsonNode first = Answers.MAPPER.readTree(lines[0]);
      assertThat(first.path("custom_id").asText()).isEqualTo("a");
      assertThat(first.at("/response/status_code").asInt()).isEqualTo(200);
      assertThat(first.at("/response/body/of").asText()).isEqualTo("a");
      assertThat(first.path("error").isNull()).isTrue();
      assertThat(Answers.MAPPER.readTree(lines[1]).at("/response/body/of").asText()).isEqualTo("c");
      JsonNode failed = Answers.MAPPER.readTree(rig.content(done.path("error_file_id")));
      assertThat(failed.path("custom_id").asText()).isEqualTo("b");
      assertThat(failed.at("/response/status_code").asInt()).isEqualTo(400);
      assertThat(rig.sent).contains("/v1/chat/completions {\"model\":\"m\",\"id\":\"a\"}");
    }
  }

  @Test
  void aRunningBatchFollowsTheNumberOfParallelRequests() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      Semaphore answers = new Semaphore(0);
      AtomicInteger running = new AtomicInteger();
      AtomicInteger begun = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      rig.script =
          body -> {
            begun.incrementAndGet();
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            answers.acquire();
            running.decrementAndGet();
            return ok("{}");
          };
      StringBuilder lines = new StringBuilder();
      for (int i = 0; i < 5; i++) {
        lines.append(line("a" + i));
      }
      String batch = rig.batch(rig.file(lines.toString()), "");
      Await.until("two run", () -> running.get() == 2);

      rig.use(BatchRig.SETTINGS.withParallelism(3));
      Await.until("three run", () -> running.get() == 3);

      rig.use(BatchRig.SETTINGS.withParallelism(1));
      most.set(0);
      answers.release(3);
      Await.until("the fourth runs", () -> begun.get() == 4);
      answers.release(2);
      assertThat(counts(rig.await(batch, "completed"))).isEqualTo("5+0/5");
      assertThat(most.get()).isEqualTo(1);
    }
  }

  @Test
  void theNextAttemptAndTheNextBatchHaveTheNewLimits() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.use(BatchRig.SETTINGS.withAttempts(1).withMaxRequests(1));
      rig.script = body -> BatchRig.answer(500, "{}");
      rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(rig.sent).hasSize(1);

      String two = rig.file(line("a") + line("b"));
      rig.await(rig.batch(two, ""), "failed");
      rig.use(BatchRig.SETTINGS.withAttempts(2).withMaxRequests(2));
      rig.await(rig.batch(two, ""), "completed");
      assertThat(rig.sent).hasSize(5);
    }
  }

  /** The store holds more than a lowered limit; the batch that began before it goes on. */
  @Test
  void aLowerLimitOfTheStoreEndsNoBatch() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      CountDownLatch answers = new CountDownLatch(1);
      rig.script =
          body -> {
            answers.await();
            return ok("{\"large\":\"" + "x".repeat(1500) + "\"}");
          };
      String batch = rig.batch(rig.file(line("a") + line("b") + line("c")), "");
      Await.until("it runs", () -> rig.sent.size() == 2);
      rig.use(BatchRig.SETTINGS.withMaxTotalBytes(1024));
      answers.countDown();
      assertThat(counts(rig.await(batch, "completed"))).isEqualTo("3+0/3");
    }
  }

  @Test
  void theProgressIsShownAndParallelRequestsAreBounded() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      Semaphore answers = new Semaphore(0);
      AtomicInteger running = new AtomicInteger();
      AtomicInteger most = new AtomicInteger();
      rig.script =
          body -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            answers.acquire();
            running.decrementAndGet();
            return ok("{}");
          };
      String batch =
          rig.batch(rig.file(line("a") + line("b") + line("c") + line("d") + line("e")), "");
      rig.await(batch, "in_progress");
      while (most.get() < 2) {
        Thread.onSpinWait();
      }
      answers.release(3);
      JsonNode shown;
      do {
        shown = rig.get("/v1/batches/" + batch).json();
        assertThat(shown.path("status").asText()).isEqualTo("in_progress");
      } while (!counts(shown).equals("3+0/5"));
      answers.release(2);
      assertThat(counts(rig.await(batch, "completed"))).isEqualTo("5+0/5");
      assertThat(most.get()).isEqualTo(2);
    }
  }

  @Test
  void aWrongInputFailsWithItsLines() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      String input =
          line("a")
              + "no json\n"
              + line("a")
              + line("b").replace("/v1/chat/completions", "/v1/embeddings")
              + "{\"custom_id\":\"c\",\"body\":{\"stream\":true}}";
      JsonNode failed = rig.await(rig.batch(rig.file(input), ""), "failed");
      JsonNode errors = failed.at("/errors/data");
      assertThat(errors.findValuesAsText("code"))
          .containsExactly(
              "invalid_json_line", "duplicate_custom_id", "mismatched_url", "invalid_parameter");
      assertThat(errors.findValuesAsText("line")).containsExactly("2", "3", "4", "5");
      assertThat(rig.sent).isEmpty();
      assertThat(rig.await(rig.batch(rig.file("\n"), ""), "failed").at("/errors/data/0/code"))
          .hasToString("\"empty_file\"");
      StringBuilder many = new StringBuilder();
      for (int i = 0; i < 6; i++) {
        many.append(line("x" + i));
      }
      String code = "/errors/data/0/code";
      assertThat(rig.await(rig.batch(rig.file(many.toString()), ""), "failed").at(code))
          .hasToString("\"too_many_requests\"");
    }
  }

  @Test
  void aCancelledBatchStopsItsRequestsAndKeepsItsResults() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      CountDownLatch hangs = new CountDownLatch(1);
      CountDownLatch stopped = new CountDownLatch(1);
      rig.script =
          body -> {
            if (id(body).equals("b")) {
              hangs.countDown();
              try {
                new Semaphore(0).acquire();
              } finally {
                stopped.countDown();
              }
            }
            return ok("{}");
          };
      String batch = rig.batch(rig.file(line("a") + line("b") + line("c") + line("d")), "");
      BatchRig.await(hangs);
      JsonNode cancelling = rig.post("/v1/batches/" + batch + "/cancel", "").json();
      assertThat(cancelling.path("status").asText()).isEqualTo("cancelling");
      BatchRig.await(stopped);
      JsonNode cancelled = rig.await(batch, "cancelled");
      assertThat(cancelled.path("cancelled_at").asLong()).isEqualTo(1_000_000);
      int completed = cancelled.at("/request_counts/completed").asInt();
      if (completed > 0) {
        assertThat(rig.content(cancelled.path("output_file_id")).lines()).hasSize(completed);
      }
      BatchRig.Reply again = rig.call("DELETE", "/v1/batches/" + batch, new byte[0], Map.of());
      assertThat(again.status()).isEqualTo(409);
      assertThat(again.text()).contains("it is cancelled");
    }
  }

  @Test
  void aBatchContinuesAfterARestartWithoutItsResults() throws Exception {
    String batch;
    CountDownLatch hangs = new CountDownLatch(1);
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.script =
          body -> {
            if (!id(body).equals("a")) {
              hangs.countDown();
              new Semaphore(0).acquire();
            }
            return ok("{}");
          };
      batch = rig.batch(rig.file(line("a") + line("b") + line("c")), "");
      BatchRig.await(hangs);
      while (!counts(rig.get("/v1/batches/" + batch).json()).equals("1+0/3")) {
        Thread.onSpinWait();
      }
    }
    try (BatchRig rig = new BatchRig(directory)) {
      assertThat(rig.get("/v1/batches/" + batch).json().path("status").asText())
          .isEqualTo("in_progress");
      rig.started();
      assertThat(counts(rig.await(batch, "completed"))).isEqualTo("3+0/3");
      assertThat(rig.sent).hasSize(2).noneMatch(sent -> sent.contains("\"a\""));
    }
  }

  @Test
  void aBusyFleetIsWaitedForAndAFailureIsTriedAgain() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      AtomicInteger calls = new AtomicInteger();
      rig.script =
          body ->
              switch (calls.incrementAndGet()) {
                case 1 -> new LineCaller.Answer(429, "7", "requests_per_minute", "r", "{}");
                case 2 -> throw new IOException("refused");
                case 3, 4, 5 -> BatchRig.answer(503, "{}");
                default -> ok("{}");
              };
      assertThat(counts(rig.await(rig.batch(rig.file(line("a")), ""), "completed")))
          .isEqualTo("1+0/1");
      assertThat(rig.waits).containsExactly(7000L, 2000L, 4000L, 8000L, 16_000L);

      rig.script = body -> BatchRig.answer(500, "oops");
      rig.sent.clear();
      JsonNode done = rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(counts(done)).isEqualTo("0+1/1");
      assertThat(rig.sent).hasSize(3);
      assertThat(rig.content(done.path("error_file_id"))).contains("\"body\":\"oops\"");
      assertThat(done.path("output_file_id").isNull()).isTrue();
    }
  }

  /** A full fleet would otherwise use up the attempts for failures. */
  @Test
  void waitsForABusyFleetAreNoFailures() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      AtomicInteger calls = new AtomicInteger();
      rig.script =
          body ->
              switch (calls.incrementAndGet()) {
                case 1, 2, 3 -> BatchRig.answer(503, "{}");
                case 4, 5 -> BatchRig.answer(500, "{}");
                default -> ok("{}");
              };
      assertThat(counts(rig.await(rig.batch(rig.file(line("a")), ""), "completed")))
          .isEqualTo("1+0/1");

      calls.set(0);
      rig.script = body -> BatchRig.answer(calls.incrementAndGet() <= 2 ? 503 : 500, "{}");
      assertThat(counts(rig.await(rig.batch(rig.file(line("a")), ""), "completed")))
          .isEqualTo("0+1/1");
      assertThat(calls.get()).isEqualTo(5);
    }
  }

  /** All slots are taken by batches with a request a minute. */
  @Test
  void batchesThatWaitForLimitsOfTheirClientLetOthersRun() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.sleeper =
          _ -> {
            Thread.sleep(10);
            rig.now.incrementAndGet();
          };
      rig.script =
          body ->
              id(body).equals("quick")
                  ? ok("{}")
                  : new LineCaller.Answer(429, "7", "requests_per_minute", "r", "{}");
      String slow = rig.file(line("a") + line("b") + line("c"));
      List<String> waiting = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        waiting.add(rig.batch(slow, ""));
      }
      String quick = rig.batch(rig.file(line("quick")), "");
      assertThat(counts(rig.await(quick, "completed"))).isEqualTo("1+0/1");

      rig.script = body -> ok("{}");
      rig.sent.clear();
      for (String each : waiting) {
        assertThat(counts(rig.await(each, "completed"))).isEqualTo("3+0/3");
      }
    }
  }

  /** A request that waited for it could wait for a day. */
  @Test
  void aUsedBudgetOfTheDayEndsARequest() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      for (String limit : List.of("requests_per_day", "tokens_per_day")) {
        rig.sent.clear();
        rig.script = body -> new LineCaller.Answer(429, "7", limit, "r", "used up");
        JsonNode done = rig.await(rig.batch(rig.file(line("a")), ""), "completed");
        assertThat(counts(done)).isEqualTo("0+1/1");
        assertThat(rig.content(done.path("error_file_id")))
            .contains("\"status_code\":429", "used up");
        assertThat(rig.sent).hasSize(1);
      }
    }
  }

  @Test
  void anExpiredBatchSaysSoForEachRequestWithoutAResult() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.script =
          body -> {
            rig.now.addAndGet(3600);
            return BatchRig.answer(503, "{}");
          };
      String window = ",\"completion_window\":\"1h\"";
      String batch = rig.batch(rig.file(line("a") + line("b") + line("c")), window);
      JsonNode expired = rig.await(batch, "expired");
      assertThat(counts(expired)).isEqualTo("0+3/3");
      assertThat(rig.content(expired.path("error_file_id")).lines())
          .hasSize(3)
          .allMatch(each -> each.contains("\"code\":\"batch_expired\""));
    }
  }

  @Test
  void aWrongBatchIsRefused() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      String file = rig.file(line("a"));
      String good = "{\"input_file_id\":\"" + file + "\",\"endpoint\":\"/v1/embeddings\"";
      for (String[] each :
          new String[][] {
            {"no json", "request body"},
            {"[]", "request body"},
            {"{}", "Missing required parameter 'input_file_id'"},
            {"{\"input_file_id\":\"x\"}", "Missing required parameter 'endpoint'"},
            {"{\"input_file_id\":\"x\",\"endpoint\":\"/metrics\"}", "endpoint: not supported"},
            {good + ",\"completion_window\":\"soon\"}", "completion_window: invalid"},
            {good + ",\"metadata\":{\"k\":1}}", "metadata: invalid"}
          }) {
        BatchRig.Reply reply = rig.post("/v1/batches", each[0]);
        assertThat(reply.status()).as(each[0]).isEqualTo(400);
        assertThat(reply.text()).contains(each[1]);
      }
      String unknown = "{\"input_file_id\":\"x\",\"endpoint\":\"/v1/embeddings\"}";
      assertThat(rig.post("/v1/batches", unknown).status()).isEqualTo(404);
      assertThat(rig.get("/v1/batches/x").status()).isEqualTo(404);
      assertThat(rig.post("/v1/batches/x/cancel", "").status()).isEqualTo(404);
      assertThat(rig.post("/v1/batches/x/pause", "").status()).isEqualTo(404);
    }
  }

  @Test
  void theInputOfAnOpenBatchCannotBeDeleted() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      String file = rig.file(line("a"));
      String batch = rig.batch(file, "");
      assertThat(rig.call("DELETE", "/v1/files/" + file, new byte[0], Map.of()).status())
          .isEqualTo(409);
      rig.started();
      rig.await(batch, "completed");
      assertThat(rig.call("DELETE", "/v1/files/" + file, new byte[0], Map.of()).status())
          .isEqualTo(200);
      assertThat(rig.get("/v1/batches?limit=1").json().path("data")).hasSize(1);
    }
  }

  private static ClientIdentity alice(int requestsPerDay, @Nullable Priority priority) {
    ClientQuota each = new ClientQuota(-1, 7, -1, -1, requestsPerDay, -1);
    ClientQuota ofModel = new ClientQuota(-1, -1, 5, -1, -1, -1);
    ClientQuotas quotas = new ClientQuotas(each, Map.of("m", ofModel));
    return new ClientIdentity(ClientIdentity.Kind.CONFIRMED, "alice", Set.of(), quotas, priority);
  }

  @Test
  void requestsCountForTheClientThatCreatedTheBatchAlsoAfterARestart() throws Exception {
    ClientIdentity alice = alice(9, Priority.LOW);
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.client = alice;
      JsonNode done = rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(rig.countedFor).containsExactly(Optional.of(alice));
      assertThat(done.toString()).doesNotContain("alice");
    }
    String waiting;
    try (BatchRig rig = new BatchRig(directory)) {
      rig.client = alice;
      waiting = rig.batch(rig.file(line("b")), "");
    }
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.client = alice;
      rig.await(waiting, "completed");
      assertThat(rig.countedFor).containsExactly(Optional.of(alice));
    }
  }

  @Test
  void aKeyHasItsPresentLimits() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      ClientIdentity stored = new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of());
      ClientQuota less = new ClientQuota(1, -1, -1, -1, -1, -1);
      ClientIdentity present =
          new ClientIdentity(
              stored.kind(), "bob", Set.of(), new ClientQuotas(less, Map.of()), null);
      rig.client = stored;
      rig.keys.put("bob", new KeyHolder(present, KeyRole.CLIENT));
      rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      rig.keys.clear();
      rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(rig.countedFor).containsExactly(Optional.of(present), Optional.of(stored));
    }
  }

  /** Nobody waits for a batch. */
  @Test
  void aBatchDoesNotPrecedeOthers() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.client = alice(9, Priority.HIGH);
      rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(rig.countedFor).containsExactly(Optional.of(alice(9, Priority.NORMAL)));
    }
  }

  /** The key of batches, and the client's key since its change, may have restrictions. */
  @Test
  void requestsHaveTheModelsOfBothKeys() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.client = new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of());
      List<Set<String>> found = new ArrayList<>();
      rig.script =
          body -> {
            String secret = String.valueOf(rig.secrets.peek());
            for (Set<String> ofBob : List.of(Set.<String>of(), Set.of("a", "b"), Set.of("c"))) {
              for (Set<String> ofBatches : List.of(Set.<String>of(), Set.of("b", "d"))) {
                rig.keys.put("bob", new KeyHolder(keyFor(ofBob), KeyRole.CLIENT));
                found.add(
                    requireNonNull(rig.clientOf(secret, keyFor(ofBatches)), "client").models());
              }
            }
            return ok("{}");
          };
      rig.await(rig.batch(rig.file(line("a")), ""), "completed");
      assertThat(found.subList(0, 5))
          .containsExactly(Set.of(), Set.of("b", "d"), Set.of("a", "b"), Set.of("b"), Set.of("c"));
      assertThat(found.getLast()).isNotEmpty().doesNotContain("b", "c", "d");
    }
  }

  private static ClientIdentity keyFor(Set<String> models) {
    return new ClientIdentity(ClientIdentity.Kind.KEY, "bob", models);
  }

  @Test
  void aSecretNamesItsClientWhileTheBatchRuns() throws Exception {
    try (BatchRig rig = new BatchRig(directory).started()) {
      rig.client = alice(9, null);
      String batch = rig.batch(rig.file(line("a")), "");
      rig.await(batch, "completed");
      assertThat(rig.secrets).hasSize(1);
      String secret = rig.secrets.remove();
      Await.until("the batch has ended", () -> rig.clientOf(secret) == null);
      assertThat(rig.clientOf("invented")).isNull();
      assertThat(rig.clientOf("")).isNull();
    }
  }

  @Test
  void aClientWithModelsCreatesNoBatch() throws Exception {
    try (BatchRig rig = new BatchRig(directory)) {
      byte[] body =
          "{\"input_file_id\":\"%s\",\"endpoint\":\"/v1/chat/completions\"}"
              .formatted(rig.file(line("a")))
              .getBytes(StandardCharsets.UTF_8);
      ClientIdentity client = new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of("m"));
      BatchRig.Reply refused = rig.call("POST", "/v1/batches", body, Map.of(), client);
      assertThat(refused.status()).isEqualTo(403);
      assertThat(refused.text()).contains("model_not_permitted");
    }
  }
}
