package io.pointsman.api.page;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.observe.activity.FleetActivity;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ActivityApiTest implements EngineListener {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final FleetActivity activity = new FleetActivity(fleet, 64, clock::nanos);
  private final RoutingEngine engine = engine();
  private List<CacheMissAttribution> misses = List.of();

  private RoutingEngine engine() {
    ScriptedRandomSource random = ScriptedRandomSource.seeded(5);
    PolicyParts parts = new PolicyParts(clock::nanos, random::roll, 64, PolicySettings.DEFAULTS);
    return new RoutingEngine(
        fleet,
        Policies.create("round_robin", parts).with(activity),
        new EngineSettings(UnknownModel.ANY_WORKER),
        this,
        clock::nanos,
        random::roll);
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }

  private JsonNode get(String path, @Nullable String shadow) throws Exception {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    ActivityApi.Parts parts = new ActivityApi.Parts(() -> "round_robin", () -> shadow, true);
    new ActivityApi(fleet, activity, () -> misses, () -> 3, parts).addTo(routes);
    LocalRoutes.Methods methods = requireNonNull(routes.build().at(path));
    return new ObjectMapper()
        .readTree(
            requireNonNull(methods.forMethod("GET"))
                .handle(new LocalRequest("GET", path, "", Map.of(), new byte[0], "req-1"))
                .body());
  }

  @Test
  void figuresOfTheFleetAndOfEachWorkerAreShown() throws Exception {
    for (int i = 0; i < 2; i++) {
      fleet.add(WorkerSpec.of("http://w" + i + ":1")).probed(true);
    }
    for (int i = 0; i < 4; i++) {
      Lease lease = ((Decision.Routed) engine.decide(RoutingRequest.builder().build())).lease();
      if (i > 0) {
        lease.reported(new Usage(100, 25, 50));
        lease.succeeded();
      }
    }
    clock.advance(Duration.ofSeconds(10));

    JsonNode shown = get("/activity", "cost");

    assertThat(shown.path("policy").asText()).isEqualTo("round_robin");
    assertThat(shown.path("shadow_policy").asText()).isEqualTo("cost");
    assertThat(shown.path("seconds").asDouble()).isEqualTo(10);
    assertThat(shown.path("waiting").asInt()).isEqualTo(3);
    assertThat(shown.path("in_flight").asInt()).isEqualTo(1);
    assertThat(shown.path("tokens_per_second").asDouble()).isEqualTo(15);
    assertThat(shown.path("reported_hits").asDouble()).isEqualTo(0.25);
    assertThat(shown.has("predicted_hits")).isFalse();
    assertThat(shown.has("ttft_p50_ms")).isFalse();
    assertThat(shown.has("lost_tokens")).isFalse();
    assertThat(shown.path("workers")).hasSize(2);
    for (JsonNode worker : shown.path("workers")) {
      assertThat(worker.path("requests").asInt()).isEqualTo(2);
      assertThat(worker.path("share").asDouble()).isEqualTo(0.5);
    }
    assertThat(get("/activity", null).path("shadow_policy").isNull()).isTrue();
  }

  @Test
  void causesOfCacheMissesAreShownForPoliciesThatPredict() throws Exception {
    CacheMissAttribution sums = new CacheMissAttribution();
    sums.add(100, 80, 30);
    sums.lost(CacheMiss.EVICTED, 50);
    misses = List.of(sums, new CacheMissAttribution());

    JsonNode shown = get("/activity", null);

    assertThat(shown.path("prompt_tokens").asInt()).isEqualTo(100);
    assertThat(shown.path("cached_tokens").asInt()).isEqualTo(30);
    assertThat(shown.path("lost_tokens").path("evicted").asInt()).isEqualTo(50);
    assertThat(shown.path("lost_tokens").path("load").asInt()).isZero();
  }

  @Test
  void pointsOfTheHourHaveTheirAge() throws Exception {
    activity.sample();
    for (int i = 0; i < 2; i++) {
      clock.advance(Duration.ofSeconds(10));
      activity.sample();
    }
    clock.advance(Duration.ofSeconds(3));

    JsonNode hour = get("/activity/hour", null);

    assertThat(hour.path("step_ms").asInt()).isEqualTo(10_000);
    assertThat(hour.path("points")).hasSize(2);
    assertThat(hour.path("points").get(0).path("age_ms").asInt()).isEqualTo(13_000);
    assertThat(hour.path("points").get(1).path("requests_per_second").asDouble()).isZero();
    assertThat(hour.path("points").get(1).has("ttft_p50_ms")).isFalse();
  }
}
