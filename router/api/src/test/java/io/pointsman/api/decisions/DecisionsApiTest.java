package io.pointsman.api.decisions;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.AffinityKey.Kind;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.observe.decisions.DecisionLog;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DecisionsApiTest implements EngineListener {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private DecisionLog log = log(new DecisionSettings(1, 4));
  private RoutingEngine engine = engine("cost");

  private DecisionLog log(DecisionSettings settings) {
    return new DecisionLog(settings, clock::nanos, ScriptedRandomSource.seeded(4)::roll);
  }

  private RoutingEngine engine(String policy) {
    for (int i = 0; i < 3; i++) {
      fleet.add(WorkerSpec.of("http://w" + i + ":1").withModels(Set.of("m"))).probed(true);
    }
    ScriptedRandomSource random = ScriptedRandomSource.seeded(5);
    PolicyParts parts =
        new PolicyParts(
            clock::nanos,
            random::roll,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS);
    return new RoutingEngine(
        fleet,
        Policies.create(policy, parts).withAnswers(log),
        new EngineSettings(UnknownModel.ANY_WORKER),
        this,
        clock::nanos,
        random::roll);
  }

  private Lease place(long prompt) {
    return place(prompt, "m");
  }

  private Lease place(long prompt, String model) {
    return place(prefix(prompt), model);
  }

  private Lease place(PrefixBlocks prefix, String model) {
    return place(RoutingRequest.builder().model(model).prefix(prefix).build());
  }

  private static PrefixBlocks prefix(long prompt) {
    long[] pieces = new long[100];
    for (int i = 0; i < pieces.length; i++) {
      pieces[i] = PrefixBlocks.mix(prompt * 1000 + i);
    }
    return PrefixBlocks.chain(1, pieces, 100, 1600, 16, 1600);
  }

  private LocalResponse ask(String query) throws Exception {
    return ask("/decisions", query, "application/json");
  }

  private LocalResponse ask(String path, String query, String accepted) throws Exception {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    new DecisionsApi(log, (_, _) -> "cost").addTo(routes);
    LocalEndpoint endpoint =
        requireNonNull(requireNonNull(routes.build().at(path)).forMethod("GET"));
    Map<String, List<String>> headers = Map.of("accept", List.of(accepted));
    return endpoint.handle(new LocalRequest("GET", path, query, headers, new byte[0], "req-1"));
  }

  private JsonNode decisions(String query) throws Exception {
    LocalResponse answer = ask(query);
    assertThat(answer.status()).isEqualTo(200);
    return new ObjectMapper().readTree(answer.body()).path("decisions");
  }

  @Test
  void decisionsStayWhenTheSizeOfTheLogChanges() throws Exception {
    for (int prompt = 0; prompt < 6; prompt++) {
      place(prompt).succeeded();
    }
    assertThat(decisions("")).hasSize(4);

    log.use(new DecisionSettings(1, 9));
    assertThat(decisions("")).hasSize(4);
    place(6).succeeded();
    assertThat(decisions("")).hasSize(5);

    log.use(new DecisionSettings(1, 2));
    assertThat(decisions("")).hasSize(2);

    log.use(new DecisionSettings(0, 0));
    assertThat(decisions("")).isEmpty();
    assertThat(log.draws()).isFalse();
  }

  @Test
  void decisionIsListedWithItsOutcome() throws Exception {
    Lease lease = place(1);
    clock.advance(Duration.ofMillis(80));
    lease.progressed();
    lease.firstToken();
    clock.advance(Duration.ofMillis(20));
    lease.reported(new Usage(1500, 0, 7));
    lease.succeeded();

    JsonNode decision = decisions("").get(0);
    assertThat(decision.path("worker").asText()).isEqualTo(lease.worker().id());
    assertThat(decision.path("reason").asText()).isEqualTo("least_cost");
    assertThat(decision.path("policy").asText()).isEqualTo("cost");
    assertThat(decision.path("age_ms").asInt()).isEqualTo(100);
    assertThat(decision.path("expected").path("prompt_tokens").asInt()).isEqualTo(1600);
    assertThat(decision.path("expected").path("ttft_ms").asDouble()).isPositive();
    JsonNode measured = decision.path("measured");
    assertThat(measured.path("ttft_ms").asDouble()).isEqualTo(80);
    assertThat(measured.path("e2e_ms").asDouble()).isEqualTo(100);
    assertThat(measured.path("outcome").asText()).isEqualTo("succeeded");
    assertThat(measured.path("prompt_tokens").asInt()).isEqualTo(1500);
    assertThat(measured.path("lost_tokens").path("never_seen").asInt()).isEqualTo(1500);
    assertThat(decision.path("candidates")).hasSize(3);
    assertThat(decision.path("candidates").get(0).path("verdict").asText()).isEqualTo("chosen");
    assertThat(decision.path("candidates").get(1).path("predicted_ttft_ms").asDouble())
        .isPositive();
    assertThat(log.inFlight()).isZero();
  }

  /** Text prompts are estimated at 1,600 tokens; the engines count 2,400. */
  @Test
  void oneEstimateOfThePromptIsShown() throws Exception {
    for (int i = 0; i < 50; i++) {
      Lease lease = place(prefix(i % 40).asText(), "m");
      clock.advance(Duration.ofMillis(80));
      lease.firstToken();
      lease.reported(new Usage(2400, i < 40 ? 0 : 2399, 7));
      lease.succeeded();
    }

    JsonNode decision = decisions("").get(0);
    JsonNode expected = decision.path("expected");
    int prompt = expected.path("prompt_tokens").asInt();
    assertThat(prompt).isBetween(2300, 2500);
    assertThat(expected.path("cached_tokens").asInt()).isBetween(prompt - 50, prompt);
    for (JsonNode candidate : decision.path("candidates")) {
      int cached = candidate.path("cached_tokens").asInt();
      assertThat(cached + candidate.path("uncached_tokens").asInt()).isEqualTo(prompt);
    }
    assertThat(expected.path("cached_tokens"))
        .isEqualTo(decision.path("candidates").get(0).path("cached_tokens"));
  }

  /** The policy of decode workers does not learn how many tokens engines count. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bothDecisionsOfARequestShowOneEstimate(boolean decodeFirst) throws Exception {
    RoutingEngine prefill = engine;
    for (int i = 0; i < 40; i++) {
      Lease lease = place(prefix(i).asText(), "m");
      clock.advance(Duration.ofMillis(80));
      lease.firstToken();
      lease.reported(new Usage(2400, 0, 7));
      lease.succeeded();
    }
    RoutingEngine decode = engine("least_load");
    for (RoutingEngine each : decodeFirst ? List.of(decode, prefill) : List.of(prefill, decode)) {
      engine = each;
      RoutingRequest request =
          RoutingRequest.builder().model("m").prefix(prefix(7).asText()).build();
      request.named("pair");
      place(request).succeeded();
    }

    JsonNode two = decisions("limit=2");
    assertThat(two.get(0).path("candidates").isEmpty())
        .isNotEqualTo(two.get(1).path("candidates").isEmpty());
    JsonNode length = two.get(0).path("expected").path("prompt_tokens");
    assertThat(length.asInt()).isBetween(2300, 2500);
    assertThat(two.get(1).path("expected").path("prompt_tokens")).isEqualTo(length);

    RoutingRequest other = RoutingRequest.builder().model("m").prefix(prefix(8).asText()).build();
    other.named("another");
    engine = decode;
    place(other).succeeded();
    assertThat(decisions("limit=1").get(0).path("expected").path("prompt_tokens").asInt())
        .isEqualTo(1600);
  }

  @Test
  void longModelNameIsTruncated() throws Exception {
    place(1, "x".repeat(1 << 20)).ignored();

    assertThat(decisions("").get(0).path("model").asText()).isEqualTo("x".repeat(200));
  }

  @Test
  void requestInFlightHasNoEnding() throws Exception {
    place(1);

    assertThat(decisions("").get(0).path("measured")).isEmpty();
    assertThat(log.inFlight()).isEqualTo(1);
  }

  @Test
  void newestAreKeptAndListedFirst() throws Exception {
    for (int i = 0; i < 10; i++) {
      place(i).ignored();
    }

    JsonNode all = decisions("limit=100");
    assertThat(all).hasSize(4);
    assertThat(all.get(0).path("number").asInt()).isEqualTo(9);
    assertThat(all.get(3).path("number").asInt()).isEqualTo(6);
    assertThat(decisions("limit=2")).hasSize(2);
  }

  @Test
  void configuredShareIsSampled() {
    log = log(new DecisionSettings(0.1, 10_000));
    drawn(1000);
    assertThat(drawn(10_000)).isBetween(900, 1100);
    assertThat(log(new DecisionSettings(1, 1)).draws()).isTrue();
    assertThat(log(new DecisionSettings(0, 100)).draws()).isFalse();
    assertThat(log(new DecisionSettings(1, 0)).draws()).isFalse();
  }

  @Test
  void logWithoutSpaceStoresNothing() throws Exception {
    log = log(new DecisionSettings(1, 0));
    engine = engine("least_load");
    place(1).ignored();

    assertThat(decisions("")).isEmpty();
  }

  @Test
  void policyWithoutEstimatesGivesItsReason() throws Exception {
    engine = engine("least_load");
    place(1).ignored();

    JsonNode decision = decisions("").get(0);
    assertThat(decision.path("reason").asText()).isEqualTo("least_load");
    assertThat(decision.path("candidates")).isEmpty();
    assertThat(decision.path("expected").has("ttft_ms")).isFalse();
    assertThat(decision.path("measured").path("outcome").asText()).isEqualTo("ignored");
  }

  @ParameterizedTest
  @ValueSource(strings = {"limit=0", "limit=many", "limit=-1", "limit=99999999999", "limit="})
  void invalidLimitIsRefused(String query) throws Exception {
    LocalResponse answer = ask(query);

    assertThat(answer.status()).isEqualTo(400);
    assertThat(new ObjectMapper().readTree(answer.body()).path("error").path("message").asText())
        .isEqualTo("limit: invalid (expected: 1 to 10000)");
  }

  @Test
  void misspeltParameterIsRefused() throws Exception {
    LocalResponse answer = ask("serch=a");

    assertThat(answer.status()).isEqualTo(400);
    assertThat(new ObjectMapper().readTree(answer.body()).path("error").path("message").asText())
        .isEqualTo("serch: unknown query parameter (did you mean search?)");
  }

  @Test
  void browserIsLedToThePage() throws Exception {
    String browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

    LocalResponse page = ask("/decisions", "", browser);

    assertThat(page.status()).isEqualTo(302);
    assertThat(page.headers()).containsEntry("location", "ui").containsEntry("vary", "accept");
  }

  @ParameterizedTest
  @ValueSource(strings = {"*/*", "application/json", ""})
  void clientWithoutHtmlGetsJson(String accepted) throws Exception {
    assertThat(ask("/decisions", "", accepted).headers())
        .containsEntry("content-type", "application/json")
        .containsEntry("vary", "accept");
  }

  @Test
  void requestIdAndSessionAreShownAndFound() throws Exception {
    place(request("req-A", new AffinityKey(Kind.SESSION, "header:x-session-id", "Alice")))
        .ignored();
    place(request("req-B", new AffinityKey(Kind.REQUEST, "header:x-request-id", "req-B")))
        .ignored();
    place(request("x".repeat(300), new AffinityKey(Kind.SESSION, "header:x-api-key", "sk-1")))
        .ignored();

    JsonNode all = decisions("");
    assertThat(all.get(2).path("request_id").asText()).isEqualTo("req-A");
    assertThat(all.get(2).path("session").asText()).isEqualTo("Alice");
    assertThat(all.get(1).path("session").isNull()).isTrue();
    assertThat(all.get(0).path("request_id").asText()).isEqualTo("x".repeat(200));
    assertThat(all.get(0).path("session").asText()).startsWith("hash:").doesNotContain("sk-1");
    assertThat(decisions("search=alice")).hasSize(1);
    assertThat(decisions("search=REQ-")).hasSize(2);
    assertThat(decisions("search=w")).hasSize(3);
    assertThat(decisions("search=nothing")).isEmpty();
  }

  @Test
  void previewIsNotLogged() throws Exception {
    engine.explain(request("req-A", null));
    RoutingRequest preview = request("req-B", null);
    preview.previewOnly();
    place(preview).ignored();

    assertThat(decisions("")).isEmpty();
  }

  /** A router with few requests has decisions to show. */
  @Test
  void someAreExplainedInAdditionToTheSample() {
    log = log(new DecisionSettings(0.000_001, 100));
    assertThat(drawn(100)).isEqualTo(32);
    log.refill();
    assertThat(drawn(100)).isEqualTo(2);
    for (int i = 0; i < 100; i++) {
      log.refill();
    }
    assertThat(drawn(100)).isEqualTo(32);
  }

  private int drawn(int decisions) {
    int drawn = 0;
    for (int i = 0; i < decisions; i++) {
      drawn += log.draws() ? 1 : 0;
    }
    return drawn;
  }

  private static RoutingRequest request(String id, @Nullable AffinityKey affinity) {
    RoutingRequest request =
        RoutingRequest.builder().model("m").prefix(prefix(1)).affinity(affinity).build();
    request.named(id);
    return request;
  }

  private Lease place(RoutingRequest request) {
    return ((Decision.Routed) engine.decide(request)).lease();
  }

  @Override
  public boolean explains(RoutingRequest request) {
    return log.draws();
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }
}
