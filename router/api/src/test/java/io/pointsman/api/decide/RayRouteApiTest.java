package io.pointsman.api.decide;

import static io.pointsman.api.decide.DecideFixture.CHAT;
import static io.pointsman.api.decide.DecideFixture.json;
import static io.pointsman.api.decide.DecideFixture.text;
import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RayRouteApiTest {
  private static final String ROUTE = "/internal/route";
  private static final String EIGHT_BODIES =
      """
      empty|
      truncated|{"model":"m","mess
      not json|hello there
      array|[1,2,3]
      no key|{"model":"m","max_tokens":5}
      empty messages|{"model":"m","messages":[]}
      empty prompt|{"model":"m","prompt":""}
      input only|{"model":"m","input":"some text that is long enough to be a key"}
      """;

  private final DecideFixture plane = new DecideFixture("cache_aware");

  private JsonNode routed(String body, String... headers) throws Exception {
    LocalResponse response = plane.post(ROUTE, body, headers);
    assertThat(response.status()).as(text(response)).isEqualTo(200);
    return json(response);
  }

  private Set<String> replicas(int times, String body, String... headers) throws Exception {
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < times; i++) {
      ids.add(routed(body, headers).path("replica_id").asText());
    }
    return ids;
  }

  @Test
  void theAnswerIsFlat() throws Exception {
    plane.worker("http://10.0.0.7:8123", "m");

    assertThat(text(plane.post(ROUTE, CHAT)))
        .isEqualTo("{\"host\":\"10.0.0.7\",\"port\":8123,\"replica_id\":\"10.0.0.7:8123\"}");
    assertThat(plane.inFlight()).isZero();
    assertThat(plane.choices.open()).isZero();
  }

  @Test
  void hostAndPortAreThoseOfTheUrl() throws Exception {
    plane.worker("http://[::1]", "m");

    JsonNode answer = routed(CHAT);

    assertThat(answer.path("host").asText()).isEqualTo("::1");
    assertThat(answer.path("port").asInt()).isEqualTo(80);
  }

  @Test
  void aHostMayHaveAnUnderscore() throws Exception {
    plane.worker("http://vllm_engine_1:8000", "m");

    JsonNode answer = routed(CHAT);

    assertThat(answer.path("host").asText()).isEqualTo("vllm_engine_1");
    assertThat(answer.path("port").asInt()).isEqualTo(8000);
  }

  @Test
  void aDeploymentIsPartOfTheResponseIfTheWorkerHasOne() throws Exception {
    plane
        .fleet
        .add(
            new WorkerSpec(
                "r1",
                "http://h:1",
                Role.REGULAR,
                Set.of("m"),
                WorkerSpec.NO_RANK,
                0,
                Map.of("deployment", "LLMServer:m")))
        .probed(true);

    assertThat(routed(CHAT).path("deployment").asText()).isEqualTo("LLMServer:m");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '\0', textBlock = EIGHT_BODIES)
  void aBodyWithoutAKeyIsPlacedByLoad(String name, String body) throws Exception {
    plane.withWorkers(4);
    String sent = body == null ? "" : body;

    assertThat(replicas(60, sent)).as(name).hasSize(4);
    assertThat(plane.inFlight()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello world\"}]}",
        "{\"model\":\"m\",\"prompt\":\"hello world\"}"
      })
  void messagesOrAPromptAreAKey(String body) throws Exception {
    plane.withWorkers(4);

    assertThat(replicas(30, body)).hasSize(1);
  }

  @Test
  void aTruncatedBodyIsRoutedByItsPrefixWithOrWithoutTheHeader() throws Exception {
    plane.withWorkers(4);
    Set<String> whole = replicas(1, CHAT);
    String head = CHAT.substring(0, CHAT.length() - 120);

    assertThat(replicas(20, head, "X-Body-Truncated", "900/1200")).isEqualTo(whole);
    assertThat(replicas(20, head)).isEqualTo(whole);
  }

  @Test
  void aMalformedBodyGivesNoKeyEvenIfItBeginsWell() throws Exception {
    plane.withWorkers(4);

    assertThat(replicas(60, CHAT.substring(0, CHAT.length() - 1) + ";;")).hasSize(4);
  }

  @Test
  void withTheClientsPathItsOwnFieldsAreTheKey() throws Exception {
    plane.withWorkers(4);
    String body = "{\"model\":\"m\",\"input\":\"" + "word ".repeat(100) + "\"}";

    assertThat(replicas(30, body, "x-serve-request-path", "/v1/embeddings")).hasSize(1);
  }

  @Test
  void keylessBodiesStillSelectTheirModel() throws Exception {
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");

    assertThat(replicas(10, "{\"model\":\"b\",\"input\":\"x\"}")).containsExactly("b:1");
    assertThat(replicas(10, "{\"model\":\"a\"}")).containsExactly("a:1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "{\"messages\":[]}|400|model: missing (expected: one of a, b)",
        "{\"model\":7}|400|model: not a string (expected: one of a, b)",
        "[1]|400|model: missing (expected: one of a, b)",
        "hello|400|model: missing (expected: one of a, b)",
        "|400|model: missing (expected: one of a, b)",
        "{\"mess|400|model: missing (expected: one of a, b)",
        "{\"model\":null}|400|model: not a string (expected: one of a, b)",
        "{\"model\":\"c\"}|404|The model `c` does not exist."
      })
  void withSeveralModelsOneMustBeNamed(String body, int status, String detail) throws Exception {
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");

    LocalResponse response = plane.post(ROUTE, body == null ? "" : body);

    assertThat(response.status()).isEqualTo(status);
    assertThat(plane.inFlight()).isZero();
    assertThat(json(response).path("detail").asText()).isEqualTo(detail);
  }

  /** Clients put the model after the messages, so a truncated body lacks it. */
  @Test
  void aTruncatedBodyWithoutAModelIsRefusedWithTheReason() throws Exception {
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");
    String head = "{\"messages\":[{\"role\":\"user\",\"content\":\"word word";

    LocalResponse refused = plane.post(ROUTE, head, "x-body-truncated", "50/5000");

    assertThat(refused.status()).isEqualTo(400);
    assertThat(json(refused).path("detail").asText())
        .isEqualTo(
            "model: not in the first "
                + head.length()
                + " bytes of the body (expected: one of a, b, there or in the header"
                + " serve_multiplexed_model_id)");
    assertThat(replicas(10, head, "x-body-truncated", "50/5000", "serve_multiplexed_model_id", "b"))
        .containsExactly("b:1");
  }

  @Test
  void adaptersAndAliasesOfOneModelNeedNotBeNamed() throws Exception {
    plane.worker("http://a:1", "base", "base:one");
    plane.worker("http://b:1", "base", "alias");

    assertThat(replicas(40, "{\"prompt\":\"\"}")).hasSize(2);
  }

  @Test
  void transparentRoutesNeedNoModel() throws Exception {
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");

    assertThat(replicas(40, "{}", "x-serve-request-path", "/reset_prefix_cache")).hasSize(2);
  }

  @Test
  void routesWithoutABodyNeedNoModel() throws Exception {
    plane.worker("http://a:1", "a");
    plane.worker("http://b:1", "b");

    assertThat(
            replicas(40, "", "x-serve-request-method", "GET", "x-serve-request-path", "/v1/models"))
        .hasSize(2);
  }

  /** Proxies forward some statuses to their clients, 404 among them. */
  @Test
  void aDisabledDecisionServiceIs501() throws Exception {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    RayRouteApi.off(routes);
    LocalEndpoint off =
        requireNonNull(requireNonNull(routes.build().at(ROUTE)).forMethod("POST"), ROUTE);

    LocalResponse answer =
        off.handle(new LocalRequest("POST", ROUTE, "", Map.of(), CHAT.getBytes(UTF_8), "req-1"));

    assertThat(answer.status()).isEqualTo(501);
    assertThat(json(answer).path("error").path("code").asText()).isEqualTo("decide_disabled");
    assertThat(off.takesHeadOfBody()).as("a long body is no 413").isTrue();
  }

  @Test
  void withoutAWorkerItIs503() throws Exception {
    LocalResponse response = plane.post(ROUTE, CHAT);

    assertThat(response.status()).isEqualTo(503);
    assertThat(json(response).path("detail").asText()).contains("no worker");
    assertThat(response.headers()).containsKey("retry-after");
  }

  @ParameterizedTest
  @ValueSource(strings = {"x-session-id", "X-Session-Id", "x_session_id", "X_SESSION-ID"})
  void aSessionSticksInAnySpellingOfItsHeader(String header) throws Exception {
    DecideFixture hashed = new DecideFixture("consistent_hash").withWorkers(8);
    Set<String> chosen = new HashSet<>();
    for (String body : List.of("", "{", CHAT, "{\"model\":\"m\",\"prompt\":\"other\"}")) {
      chosen.add(json(hashed.post(ROUTE, body, header, "s-1")).path("replica_id").asText());
    }
    assertThat(chosen).hasSize(1);

    Set<String> without = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      without.add(json(hashed.post(ROUTE, "", header, "")).path("replica_id").asText());
    }
    assertThat(without).hasSizeGreaterThan(1);
  }

  @Test
  void aProxyThatReportsTheEndGetsALease() throws Exception {
    plane.withWorkers(2);

    String lease = routed(CHAT, "x-pointsman-lease-ttl", "5000").path("lease").asText();

    assertThat(plane.inFlight()).isEqualTo(1);
    assertThat(
            plane.post("/v1/leases/" + lease + "/settle", "{\"outcome\":\"succeeded\"}").status())
        .isEqualTo(200);
    assertThat(plane.inFlight()).isZero();
  }

  /** An error would reach the proxy's clients, which cannot know the router's limit. */
  @Test
  void aTooLongLeaseIsShortened() throws Exception {
    plane.withWorkers(1);

    JsonNode held = routed(CHAT, "x-pointsman-lease-ttl", "600001");

    assertThat(held.path("expires_in_ms").asLong()).isEqualTo(600_000);
    String lease = held.path("lease").asText();
    LocalResponse renewed =
        plane.post("/v1/leases/" + lease + "/renew", "{\"ttl_ms\":999999999999999}");
    assertThat(json(renewed).path("expires_in_ms").asLong()).isEqualTo(600_000);
  }

  @Test
  void aProxyThatReportsTheEndGetsErrorsForItsClients() throws Exception {
    LocalResponse none = plane.post(ROUTE, CHAT, "x-pointsman-lease-ttl", "5000");
    LocalResponse wrong = plane.post(ROUTE, CHAT, "x-pointsman-lease-ttl", "soon");

    assertThat(none.status()).isEqualTo(503);
    assertThat(json(none).path("error").path("code").asText()).isEqualTo("no_workers");
    assertThat(wrong.status()).isEqualTo(400);
    assertThat(json(wrong).path("error").path("message").asText())
        .isEqualTo("x-pointsman-lease-ttl: soon (expected: milliseconds, 1 to 600000)");
  }

  /** A proxy with a script of a former version expects a lease. */
  @Test
  void theFormerNameOfTheLeaseHeaderIsRefused() throws Exception {
    plane.withWorkers(1);
    LocalResponse former = plane.post(ROUTE, CHAT, "x-pointsman-hold", "5000");

    assertThat(former.status()).isEqualTo(400);
    assertThat(json(former).path("error").path("message").asText())
        .isEqualTo("x-pointsman-hold: former name (expected: x-pointsman-lease-ttl)");
  }

  /** Proxies buffer responses, so client data must not make a response long. */
  @Test
  void aModelsNameIsLimited() throws Exception {
    DecideFixture adapters = DecideFixture.withAdapters("random").withWorkers(1);
    String longest = "m:" + "a".repeat(1022);

    JsonNode served = json(adapters.post(ROUTE, "{}", "serve_multiplexed_model_id", longest));
    LocalResponse echoed =
        adapters.post(
            ROUTE,
            "{}",
            "serve_multiplexed_model_id",
            longest + "a",
            "x-pointsman-lease-ttl",
            "5000");
    LocalResponse flat = adapters.post(ROUTE, "{\"model\":\"" + "a".repeat(70_000) + "\"}");

    assertThat(served.path("request_headers").path("serve_multiplexed_model_id").asText())
        .isEqualTo(longest);
    assertThat(echoed.status()).isEqualTo(400);
    assertThat(json(echoed).path("error").path("message").asText())
        .isEqualTo("model: a name of 1025 characters (expected: up to 1024)");
    // Longer names in a body are not read.
    assertThat(flat.status()).isEqualTo(404);
    assertThat(flat.body()).hasSizeLessThan(1_200);
    assertThat(adapters.inFlight()).isZero();
  }

  /** Lua scripts find texts without escapes and copy them into a request. */
  @ParameterizedTest
  @ValueSource(strings = {"m:a\"b", "m:a\\b", "m:a\nb", "m:\u007f"})
  void headerValuesNeedNoEscapes(String model) throws Exception {
    DecideFixture adapters = DecideFixture.withAdapters("random").withWorkers(1);
    String body = new ObjectMapper().createObjectNode().put("model", model).toString();

    JsonNode reply = json(adapters.post(ROUTE, body));
    JsonNode plain = json(adapters.post(ROUTE, "{\"model\":\"m:a\"}"));

    assertThat(reply.has("replica_id")).isTrue();
    assertThat(reply.has("request_headers")).isFalse();
    assertThat(plain.path("request_headers").path("serve_multiplexed_model_id").asText())
        .isEqualTo("m:a");
  }

  /** Another worker may lack the model, and a proxy that balances itself ignores models. */
  @Test
  void proxiesMayBalanceThemselvesIfEveryWorkerServesTheModel() throws Exception {
    Worker dead = plane.worker("http://a:1", "m");
    assertThat(plane.post(ROUTE, "{\"model\":\"n\"}", "x-pointsman-lease-ttl", "9").headers())
        .as("unknown models are unknown")
        .doesNotContainKey("x-pointsman-unplaced");
    for (int i = 0; i < 10; i++) {
      dead.probed(false);
    }
    assertThat(unplaced("m")).isTrue();

    plane.worker("http://b:1", "n", "m").drain(true);
    assertThat(unplaced("m")).isTrue();

    plane.worker("http://c:1", "n");
    assertThat(unplaced("m")).isFalse();
  }

  private boolean unplaced(String model) throws Exception {
    LocalResponse refusal =
        plane.post(ROUTE, "{\"model\":\"" + model + "\"}", "x-pointsman-lease-ttl", "9");
    assertThat(refusal.status()).isEqualTo(503);
    assertThat(text(refusal)).contains("none_available");
    assertThat(refusal.headers()).containsKey("retry-after");
    return refusal.headers().containsKey("x-pointsman-unplaced");
  }

  @Test
  void adaptersAndRanksAreHeadersInTheResponse() throws Exception {
    plane.fleet.add(WorkerSpec.of("http://w:1").withModels(Set.of("m")).atRank(2)).probed(true);

    assertThat(routed(CHAT).path("request_headers").path("X-data-parallel-rank").asText())
        .isEqualTo("2");
  }

  @Test
  void differentSessionsSpread() throws Exception {
    DecideFixture hashed = new DecideFixture("consistent_hash").withWorkers(4);
    Set<String> chosen = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      chosen.add(json(hashed.post(ROUTE, "", "x-session-id", "s" + i)).path("replica_id").asText());
    }
    assertThat(chosen).hasSize(4);
  }

  /** The prompt is reported without the proxy's own key. */
  @Test
  void completePromptIsReportedToTheListener() throws Exception {
    plane.worker("http://10.0.0.7:8123", "m");
    routed(CHAT, "authorization", "Bearer plane");
    routed(CHAT, "x-body-truncated", "true");

    assertThat(plane.prompts).containsExactly("10.0.0.7:8123 null " + CHAT);
  }

  @Test
  void aClientWithModelsMayUseNoOther() throws Exception {
    plane.withWorkers(1);
    LocalEndpoint route = plane.endpoint(ROUTE);
    ClientIdentity client =
        new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of(DecideFixture.MODEL));
    assertThat(route.handle(of(client, DecideFixture.MODEL, false)).status()).isEqualTo(200);
    assertThat(route.handle(of(client, "other", false)).status()).isEqualTo(403);
    // The rest of a body may name another model.
    assertThat(route.handle(of(client, DecideFixture.MODEL, true)).status()).isEqualTo(403);
    assertThat(route.handle(of(ClientIdentity.UNKNOWN, DecideFixture.MODEL, true)).status())
        .isEqualTo(200);
  }

  /** Some engines follow the header; others read the body. Both must be permitted. */
  @Test
  void aHeaderCannotNameAModelForAClientWithModels() throws Exception {
    plane.withWorkers(1);
    LocalEndpoint route = plane.endpoint(ROUTE);
    ClientIdentity client =
        new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of(DecideFixture.MODEL));
    String none = "{\"messages\":[]}";
    String own = "{\"model\":\"%s\",\"messages\":[]}".formatted(DecideFixture.MODEL);
    assertThat(route.handle(named(client, DecideFixture.MODEL, none)).status()).isEqualTo(403);
    assertThat(route.handle(named(client, "other", own)).status()).isEqualTo(403);
    assertThat(route.handle(named(client, DecideFixture.MODEL, own)).status()).isEqualTo(200);
    assertThat(route.handle(named(ClientIdentity.UNKNOWN, DecideFixture.MODEL, none)).status())
        .isEqualTo(200);
  }

  /** HAProxy forwards an upgrade, and the engine's WebSocket then has a model of its own. */
  @Test
  void anUpgradeWithoutAModelIsNoReading() throws Exception {
    plane.withWorkers(1);
    LocalEndpoint route = plane.endpoint(ROUTE);
    ClientIdentity client =
        new ClientIdentity(ClientIdentity.Kind.KEY, "bob", Set.of(DecideFixture.MODEL));
    assertThat(route.handle(reading(client, "/v1/x", Map.of())).status()).isEqualTo(200);
    Map<String, List<String>> upgrade = Map.of("upgrade", List.of("websocket"));
    String realtime = "/v1/realtime?model=";
    assertThat(route.handle(reading(client, "/v1/x", upgrade)).status()).isEqualTo(403);
    assertThat(route.handle(reading(client, realtime + "other", upgrade)).status()).isEqualTo(403);
    assertThat(route.handle(reading(client, realtime + DecideFixture.MODEL, upgrade)).status())
        .isEqualTo(200);
    assertThat(route.handle(reading(ClientIdentity.UNKNOWN, "/v1/x", upgrade)).status())
        .isEqualTo(200);
  }

  private static LocalRequest reading(
      ClientIdentity client, String path, Map<String, List<String>> more) {
    Map<String, List<String>> headers = new HashMap<>(more);
    headers.put("x-serve-request-method", List.of("GET"));
    headers.put("x-serve-request-path", List.of(path));
    return new LocalRequest("POST", ROUTE, "", headers, new byte[0], false, "req-1").of(client);
  }

  private static LocalRequest named(ClientIdentity client, String header, String body) {
    Map<String, List<String>> headers = Map.of("serve_multiplexed_model_id", List.of(header));
    return new LocalRequest("POST", ROUTE, "", headers, body.getBytes(UTF_8), false, "req-1")
        .of(client);
  }

  private static LocalRequest of(ClientIdentity client, String model, boolean truncated) {
    byte[] body = "{\"model\":\"%s\",\"messages\":[]}".formatted(model).getBytes(UTF_8);
    return new LocalRequest("POST", ROUTE, "", Map.of(), body, truncated, "req-1").of(client);
  }

  @Test
  void limitsOfTheClientsKeyApply() throws Exception {
    plane.withWorkers(1);
    LocalEndpoint route = plane.endpoint(ROUTE);
    ClientQuota one = new ClientQuota(0, 1, 0, 0, 0, 0);
    ClientIdentity client =
        new ClientIdentity(
            ClientIdentity.Kind.KEY, "eve", Set.of(), new ClientQuotas(one, Map.of()), null);
    assertThat(route.handle(of(client, DecideFixture.MODEL, false)).status()).isEqualTo(200);
    LocalResponse refused = route.handle(of(client, DecideFixture.MODEL, false));
    assertThat(refused.status()).isEqualTo(429);
    assertThat(text(refused)).contains("rate_limit_exceeded");
    assertThat(refused.headers()).containsEntry("retry-after", "60");
  }
}
