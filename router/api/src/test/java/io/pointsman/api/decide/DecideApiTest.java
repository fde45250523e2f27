package io.pointsman.api.decide;

import static io.pointsman.api.decide.DecideFixture.CHAT;
import static io.pointsman.api.decide.DecideFixture.json;
import static io.pointsman.api.decide.DecideFixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.LocalResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DecideApiTest {
  /** A long prompt for {@code cost}, which ignores short hits in favour of an idle worker. */
  private static final String LONG = CHAT.replace("word ", "word ".repeat(100));

  private static final String DECIDE = "/v1/decide";

  private static String question(String body, String more) {
    return "{\"path\":\"/v1/chat/completions\",\"body\":" + body + more + "}";
  }

  @Test
  void theAnswerHasLeaseWorkerAlternativesAndExplanation() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(4);

    JsonNode answer =
        plane.decided(
            "{\"path\":\"/v1/chat/completions\",\"method\":\"POST\",\"headers\":{\"x-session-id\":\"s\"},"
                + "\"body\":"
                + CHAT
                + ",\"ttl_ms\":30000,\"reserve\":true}");

    String id = answer.path("worker").path("id").asText();
    assertThat(answer.path("lease").asText()).isNotEmpty();
    assertThat(answer.path("expires_in_ms").asLong()).isEqualTo(30_000);
    assertThat(answer.path("worker").path("url").asText()).isEqualTo("http://" + id);
    assertThat(answer.path("alternatives")).hasSize(2);
    assertThat(answer.path("alternatives").get(0).path("score").asDouble()).isEqualTo(1.0);
    assertThat(answer.path("alternatives").get(0).path("id").asText()).isNotEqualTo(id);
    JsonNode why = answer.path("explanation");
    assertThat(why.path("policy").asText()).isEqualTo("cache_aware");
    assertThat(why.path("reason").asText()).isEqualTo("prefix_miss");
    assertThat(why.path("affinity").asText()).isEqualTo("header:x-session-id");
    assertThat(why.path("model").asText()).isEqualTo("m");
    assertThat(why.path("prompt_tokens").asInt()).isGreaterThan(200);
    assertThat(why.path("loads").path("chosen").asInt()).isEqualTo(1);
    assertThat(why.path("loads").path("least").asInt()).isZero();
    assertThat(plane.inFlight()).isEqualTo(1);
  }

  @Test
  void theCodingOfTheClientsBodyDoesNotCount() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(4);

    JsonNode answer = plane.decided(question(CHAT, ",\"headers\":{\"content-encoding\":\"gzip\"}"));

    assertThat(answer.path("explanation").path("model").asText()).isEqualTo("m");
    assertThat(answer.path("explanation").path("prompt_tokens").asInt()).isGreaterThan(200);
  }

  @Test
  void theSamePromptFollowsItsPrefix() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(4);
    JsonNode first = plane.decided(question(CHAT, ""));

    JsonNode again = plane.decided(question(CHAT, ",\"reserve\":false"));

    assertThat(again.path("worker")).isEqualTo(first.path("worker"));
    assertThat(again.path("explanation").path("reason").asText()).isEqualTo("prefix_hit");
    assertThat(again.path("explanation").path("matched_blocks").asInt())
        .isEqualTo(again.path("explanation").path("prompt_blocks").asInt());
    assertThat(again.path("explanation").path("cached_tokens").asInt())
        .isEqualTo(again.path("explanation").path("prompt_tokens").asInt());
  }

  @Test
  void anExplanationContainsThePolicysViewOfEachWorker() throws Exception {
    DecideFixture plane = new DecideFixture("cost").withWorkers(3);

    JsonNode why = plane.decided(question(CHAT, ",\"explain\":true")).path("explanation");
    JsonNode unasked = plane.decided(question(CHAT, "")).path("explanation");

    assertThat(why.path("predicted_ttft_ms").asDouble()).isPositive();
    assertThat(why.path("candidates")).hasSize(3);
    JsonNode chosen = why.path("candidates").get(0);
    assertThat(chosen.path("verdict").asText()).isEqualTo("chosen");
    assertThat(chosen.path("predicted_ttft_ms")).isEqualTo(why.path("predicted_ttft_ms"));
    assertThat(chosen.path("uncached_tokens").asInt()).isPositive();
    assertThat(chosen.path("cached_tokens").asInt() + chosen.path("uncached_tokens").asInt())
        .isEqualTo(why.path("prompt_tokens").asInt());
    assertThat(chosen.path("cost_ms").asDouble())
        .isGreaterThan(chosen.path("predicted_ttft_ms").asDouble());
    assertThat(why.path("candidates").get(1).path("verdict").asText()).isEqualTo("chance");
    assertThat(unasked.has("candidates")).isFalse();
  }

  @Test
  void aBodyAsTextMayFillTheWholeQuestion() throws Exception {
    DecideFixture plane = new DecideFixture("least_load").withWorkers(1);
    String prompt = "x".repeat(20_000_001);

    JsonNode answer =
        plane.decided(
            "{\"path\":\"/v1/completions\",\"body\":\"{\\\"model\\\":\\\"m\\\",\\\"prompt\\\":\\\""
                + prompt
                + "\\\"}\"}");

    assertThat(answer.path("explanation").path("model").asText()).isEqualTo("m");
  }

  @Test
  void withoutAReservationThereIsNoLeaseAndNoLoad() throws Exception {
    DecideFixture plane = new DecideFixture("least_load").withWorkers(2);

    JsonNode answer = plane.decided(question(CHAT, ",\"reserve\":false"));

    assertThat(answer.has("lease")).isFalse();
    assertThat(answer.has("expires_in_ms")).isFalse();
    assertThat(plane.inFlight()).isZero();
    assertThat(plane.choices.open()).isZero();
  }

  @Test
  void underCostAPromptCountsAsCachedWithoutALease() throws Exception {
    DecideFixture cost = new DecideFixture("cost").withWorkers(4);
    String question = "{\"reserve\":false,\"body\":" + LONG + "}";
    JsonNode first = cost.decided(question);
    cost.clock.advance(Duration.ofMinutes(1));
    JsonNode second = cost.decided(question);

    assertThat(first.path("explanation").path("matched_blocks").asInt()).isZero();
    assertThat(second.path("explanation").path("matched_blocks").asInt())
        .isEqualTo(second.path("explanation").path("prompt_blocks").asInt())
        .isPositive();
    assertThat(second.path("worker")).isEqualTo(first.path("worker"));
    assertThat(cost.inFlight()).isZero();
  }

  @Test
  void underCostAPromptIsForgottenWithAnExpiredOrRefusedLease() throws Exception {
    DecideFixture cost = new DecideFixture("cost").withWorkers(4);
    String question = "{\"body\":" + LONG + "}";
    cost.decided(question);
    cost.clock.advance(Duration.ofSeconds(30));
    cost.choices.expireDue();
    JsonNode afterExpiry = cost.decided(question);
    cost.clock.advance(Duration.ofSeconds(10));
    String lease = afterExpiry.path("lease").asText();
    cost.post("/v1/leases/" + lease + "/settle", "{\"outcome\":\"refused\"}");
    JsonNode afterRefusal = cost.decided(question);
    lease = afterRefusal.path("lease").asText();
    cost.post("/v1/leases/" + lease + "/settle", "{\"outcome\":\"succeeded\"}");
    JsonNode afterSuccess = cost.decided(question);

    assertThat(afterExpiry.path("explanation").path("matched_blocks").asInt()).isZero();
    assertThat(afterRefusal.path("explanation").path("matched_blocks").asInt()).isZero();
    assertThat(afterSuccess.path("explanation").path("matched_blocks").asInt()).isPositive();
  }

  @Test
  void aBodyWrittenAsTextIsReadAsThoseBytes() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(4);
    JsonNode first = plane.decided(question(CHAT, ""));
    String quoted = new ObjectMapper().writeValueAsString(CHAT);

    JsonNode again = plane.decided(question(quoted, ""));

    assertThat(again.path("worker")).isEqualTo(first.path("worker"));
    assertThat(again.path("explanation").path("reason").asText()).isEqualTo("prefix_hit");
  }

  @Test
  void aTruncatedBodyIsRoutedOnItsPrefix() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(4);
    JsonNode first = plane.decided(question(CHAT, ""));
    String head = new ObjectMapper().writeValueAsString(CHAT.substring(0, CHAT.length() - 100));

    JsonNode again = plane.decided(question(head, ",\"truncated\":true"));

    assertThat(again.path("worker")).isEqualTo(first.path("worker"));
    assertThat(again.path("explanation").path("reason").asText()).isEqualTo("prefix_hit");
  }

  @Test
  void excludedWorkersAreNotChosen() throws Exception {
    DecideFixture plane = new DecideFixture("consistent_hash").withWorkers(3);
    Set<String> chosen = new HashSet<>();
    String exclude = "";
    for (int i = 0; i < 3; i++) {
      JsonNode answer = plane.decided(question(CHAT, ",\"exclude\":[\"nobody\"" + exclude + "]"));
      String id = answer.path("worker").path("id").asText();
      chosen.add(id);
      exclude += ",\"" + id + "\"";
    }

    assertThat(chosen).hasSize(3);
    assertThat(plane.post(DECIDE, question(CHAT, ",\"exclude\":[\"x\"" + exclude + "]")).status())
        .isEqualTo(503);
  }

  @Test
  void withoutRegularWorkersADecodeWorkerServesTheWhole() throws Exception {
    DecideFixture plane = new DecideFixture("least_load");
    for (Role role : List.of(Role.PREFILL, Role.DECODE)) {
      String id = role.name().toLowerCase(Locale.ROOT);
      plane
          .fleet
          .add(
              new WorkerSpec(
                  id, "http://" + id, role, Set.of("m"), WorkerSpec.NO_RANK, 0, Map.of()))
          .probed(true);
    }

    JsonNode answer = plane.decided(question(CHAT, ""));

    assertThat(answer.path("worker").path("id").asText()).isEqualTo("decode");
    assertThat(plane.inFlight()).isEqualTo(1);
    assertThat(json(plane.post("/internal/route", CHAT)).path("replica_id").asText())
        .isEqualTo("decode");
  }

  @Test
  void aRankIsPartOfTheResponse() throws Exception {
    DecideFixture plane = new DecideFixture("random");
    plane.fleet.add(WorkerSpec.of("http://w:1").withModels(Set.of("m")).atRank(3)).probed(true);

    JsonNode worker = plane.decided(question(CHAT, "")).path("worker");

    assertThat(worker.path("id").asText()).isEqualTo("w:1@3");
    assertThat(worker.path("url").asText()).isEqualTo("http://w:1");
    assertThat(worker.path("rank").asInt()).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "{|request body: ends too early at line 1, column 2 (expected: valid JSON)",
        "[]|request body: not an object",
        "nonsense|request body: unexpected character at line 1, column",
        "{\"exclude\":[@]}|request body: unexpected character at line 1, column 13 (expected:"
            + " valid",
        "{\"body\":{}}x|request body: unexpected character at line 1, column 12 (expected: valid",
        "{\"boby\":{}}|boby: unknown field (did you mean body?)",
        "{\"boby\":null}|boby: unknown field (did you mean body?)",
        "{\"hold\":false}|hold: former name (expected: reserve)",
        "{\"hold\":null}|hold: former name (expected: reserve)",
        "{\"path\":1}|path: of another type (expected: a string)",
        "{\"path\":\"v1\"}|path: v1 (expected: begins with /)",
        "{\"headers\":[]}|headers: of another type",
        "{\"headers\":{\"a\":{}}}|headers.a: of another type",
        "{\"body\":7}|body: of another type",
        "{\"body\":[]}|body: not an object (expected: a JSON object)",
        "{\"body\":\"{\\\"model\\\":\"}|body: ends too early",
        "{}|body: empty (expected: a JSON object)",
        "{\"body\":null}|body: empty (expected: a JSON object)",
        "{\"body\":{},\"ttl_ms\":0}|ttl_ms: 0 (expected: 1 to 600000)",
        "{\"body\":{},\"ttl_ms\":600001}|ttl_ms: 600001 (expected: a whole number, at most 600000)",
        "{\"body\":{},\"ttl_ms\":1.5}|ttl_ms: of another type",
        "{\"body\":{},\"ttl_ms\":99999999999999999999999}|ttl_ms: 99999999999999999999999",
        "{\"body\":{},\"reserve\":\"yes\"}|reserve: of another type (expected: true or false)",
        "{\"body\":{},\"alternatives\":17}|alternatives: 17",
        "{\"body\":{},\"exclude\":\"w\"}|exclude: of another type (expected: a list of strings)"
      })
  void aMalformedQuestionIs400AndHoldsNothing(String question, String message) throws Exception {
    DecideFixture plane = new DecideFixture("random").withWorkers(1);

    LocalResponse response = plane.post(DECIDE, question);

    assertThat(response.status()).as(text(response)).isEqualTo(400);
    assertThat(json(response).path("error").path("message").asText()).startsWith(message);
    assertThat(json(response).path("error").path("type").asText())
        .isEqualTo("invalid_request_error");
    assertThat(plane.inFlight()).isZero();
  }

  @Test
  void bytesThatAreNotUtf8AreAnswered() throws Exception {
    DecideFixture plane = new DecideFixture("random").withWorkers(1);

    assertThat(plane.post(DECIDE, "").status()).isEqualTo(400);
    byte[] wide = question(CHAT, "").getBytes(StandardCharsets.UTF_16);
    assertThat(plane.post(DECIDE, wide).status()).isEqualTo(400);
    assertThat(plane.post(DECIDE, new byte[] {'{', '"', (byte) 0xFF, '"'}).status()).isEqualTo(400);
    byte[] beyond = {0, 0, (byte) 0xFE, (byte) 0xFF, 0x7F, 0, 0, 0}; // not a character in UTF-32
    LocalResponse refused = plane.post(DECIDE, beyond);
    assertThat(refused.status()).isEqualTo(400);
    assertThat(json(refused).path("error").path("message").asText())
        .isEqualTo("request body: not UTF-8 (expected: valid JSON)");
    assertThat(plane.inFlight()).isZero();
  }

  @Test
  void anUnknownModelIs404() throws Exception {
    DecideFixture plane = new DecideFixture("random").withWorkers(1);

    LocalResponse response = plane.post(DECIDE, question("{\"model\":\"other\"}", ""));

    assertThat(response.status()).isEqualTo(404);
    assertThat(json(response).path("error").path("code").asText()).isEqualTo("model_not_found");
  }

  @Test
  void workersWithDifferentModelsRequireAModel() throws Exception {
    DecideFixture plane = new DecideFixture("random");
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");

    LocalResponse unnamed = plane.post(DECIDE, question("{\"messages\":[]}", ""));
    String head = question("\"{\\\"messages\\\":[\"", ",\"truncated\":true");

    assertThat(unnamed.status()).isEqualTo(400);
    assertThat(json(unnamed).path("error").path("message").asText())
        .isEqualTo("model: missing (expected: one of a, b)");
    assertThat(text(plane.post(DECIDE, head))).contains("not in the first 13 bytes of the body");
    assertThat(plane.inFlight()).isZero();
  }

  @Test
  void noWorkerIs503WithRetryAfter() throws Exception {
    LocalResponse response = new DecideFixture("random").post(DECIDE, question(CHAT, ""));

    assertThat(response.status()).isEqualTo(503);
    assertThat(response.headers()).containsEntry("retry-after", "1");
  }

  @Test
  void allBusyIs503WithTheRestAsRetryAfter() throws Exception {
    DecideFixture plane = new DecideFixture("random").withWorkers(1);
    plane.fleet.snapshot().workers().getFirst().rest(Duration.ofSeconds(7).toNanos());

    LocalResponse response = plane.post(DECIDE, question(CHAT, ""));

    assertThat(response.status()).isEqualTo(503);
    assertThat(json(response).path("error").path("code").asText()).isEqualTo("all_busy");
    assertThat(response.headers()).containsEntry("retry-after", "7");
  }

  /**
   * Clients of both endpoints get the same Retry-After, computed from the worker's served requests.
   */
  @Test
  void aFullWorkerIs503WithItsPaceAsRetryAfter() throws Exception {
    DecideFixture plane = new DecideFixture("random");
    plane
        .fleet
        .add(WorkerSpec.of("http://w:1").withModels(Set.of("m")).withMaxInFlight(2))
        .probed(true);
    String lease = plane.decided(question(CHAT, "")).path("lease").asText();
    plane.clock.advance(Duration.ofSeconds(8));
    plane.post("/v1/leases/" + lease + "/settle", "{\"outcome\":\"succeeded\"}");
    plane.decided(question(CHAT, ""));
    plane.decided(question(CHAT, ""));

    assertThat(plane.post(DECIDE, question(CHAT, "")).headers()).containsEntry("retry-after", "4");
    LocalResponse routed = plane.post("/internal/route", CHAT);
    assertThat(routed.status()).isEqualTo(503);
    assertThat(routed.headers()).containsEntry("retry-after", "4");
  }

  /** The built-in proxy sends the same status when its queue is full. */
  @Test
  void aFullWorkerIs429OnEveryEndpointWhereThatIsConfigured() throws Exception {
    DecideFixture plane = DecideFixture.withBusyStatus(429);
    LocalResponse none = plane.post(DECIDE, question(CHAT, ""));
    plane
        .fleet
        .add(WorkerSpec.of("http://w:1").withModels(Set.of("m")).withMaxInFlight(1))
        .probed(true);
    plane.decided(question(CHAT, ""));

    LocalResponse decided = plane.post(DECIDE, question(CHAT, ""));
    LocalResponse held = plane.post("/internal/route", CHAT, "x-pointsman-lease-ttl", "5000");
    LocalResponse pointed = plane.post("/internal/route", CHAT);

    assertThat(none.status()).isEqualTo(503);
    for (LocalResponse each : List.of(decided, held, pointed)) {
      assertThat(each.status()).isEqualTo(429);
      assertThat(Integer.parseInt(each.headers().getOrDefault("retry-after", ""))).isPositive();
    }
    assertThat(json(decided).path("error").path("code").asText()).isEqualTo("all_busy");
    assertThat(json(held)).isEqualTo(json(decided));
    assertThat(json(pointed).path("detail").asText()).isEqualTo("all workers are busy");
  }

  @Test
  void tooManyLeasesAre503UntilOneEnds() throws Exception {
    Duration ttl = Duration.ofSeconds(5);
    DecideFixture plane =
        new DecideFixture("random", new ExternalLeaseSettings(2, ttl, ttl, ttl)).withWorkers(1);
    plane.decided(question(CHAT, ""));
    plane.decided(question(CHAT, ""));

    LocalResponse refused = plane.post(DECIDE, question(CHAT, ""));

    assertThat(refused.status()).isEqualTo(503);
    assertThat(json(refused).path("error").path("code").asText()).isEqualTo("too_many_leases");
    assertThat(refused.headers()).containsEntry("retry-after", "5");
    assertThat(plane.inFlight()).isEqualTo(2);
    plane.clock.advance(ttl);
    plane.choices.expireDue();
    assertThat(plane.post(DECIDE, question(CHAT, "")).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"x-session-id", "X_Session_ID", "X-SESSION-ID"})
  void aSessionStaysWithItsWorker(String header) throws Exception {
    DecideFixture plane = new DecideFixture("consistent_hash").withWorkers(8);
    Set<JsonNode> chosen = new HashSet<>();
    for (int i = 0; i < 20; i++) {
      String body = "{\"model\":\"m\",\"prompt\":\"" + i + "\"}";
      chosen.add(
          plane
              .decided(
                  question(body, ",\"reserve\":false,\"headers\":{\"" + header + "\":[\"s1\"]}"))
              .path("worker"));
    }
    assertThat(chosen).hasSize(1);
  }

  @Test
  void completePromptIsReportedToTheListener() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(1);
    plane.decided("{\"headers\":{\"Authorization\":\"Bearer key\"},\"body\":" + CHAT + "}");

    assertThat(plane.prompts).containsExactly("w0:1 Bearer key " + CHAT);
  }

  @Test
  void truncatedOrRejectedPromptIsNotReported() throws Exception {
    DecideFixture plane = new DecideFixture("cache_aware").withWorkers(1);
    String head = CHAT.substring(0, 500).replace("\"", "\\\"");
    plane.decided(question("\"" + head + "\"", ",\"truncated\":true"));
    assertThat(plane.post(DECIDE, question(CHAT, ",\"exclude\":[\"w0:1\"]")).status())
        .isEqualTo(503);

    assertThat(plane.prompts).isEmpty();
  }

  @Test
  void aDryRunShowsTheChoiceAndLeavesNoTrace() throws Exception {
    DecideFixture plane = new DecideFixture("cost").withWorkers(3);

    JsonNode answer = plane.decided(question(LONG, ",\"dry_run\":true"));

    assertThat(answer.path("dry_run").asBoolean()).isTrue();
    assertThat(answer.has("lease")).isFalse();
    assertThat(answer.path("alternatives")).hasSize(2);
    assertThat(answer.path("explanation").path("candidates")).hasSize(3);
    assertThat(answer.path("explanation").path("loads").path("chosen").asInt()).isZero();
    assertThat(plane.inFlight()).isZero();
    assertThat(plane.choices.open()).isZero();
    assertThat(plane.prompts).isEmpty();
    assertThat(plane.signals).isEmpty();
    JsonNode again = plane.decided(question(LONG, ",\"dry_run\":true"));
    assertThat(again.path("explanation").path("cached_tokens").asInt()).isZero();
  }

  @Test
  void aDryRunShowsTheRefusal() throws Exception {
    DecideFixture plane = new DecideFixture("cost").withWorkers(1);
    plane.fleet.snapshot().workers().getFirst().cordon(true);

    LocalResponse refused = plane.post(DECIDE, question(CHAT, ",\"dry_run\":true"));

    assertThat(refused.status()).isEqualTo(503);
    assertThat(text(refused)).contains("none_available");
    LocalResponse named =
        plane.post(
            DECIDE, question(CHAT, ",\"dry_run\":true,\"lease\":\"" + "a".repeat(32) + "\""));
    assertThat(named.status()).isEqualTo(400);
    assertThat(text(named)).contains("lease: set (expected: no lease if dry_run is true)");
  }
}
