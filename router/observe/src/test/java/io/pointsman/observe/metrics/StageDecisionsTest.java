package io.pointsman.observe.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Decisions by prefix and by session, under the names of vllm-router. */
class StageDecisionsTest {
  private static final String PREFIX = "vllm_router_prefix_routing_decisions_total";
  private static final String SESSION = "vllm_router_pd_affinity_decisions_total";

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final Map<Role, String> policies = new EnumMap<>(Role.class);
  private final Map<Role, Worker> workers = new EnumMap<>(Role.class);

  private RouterMetrics metrics(boolean keepsSessions) {
    RouterMetrics metrics =
        new RouterMetrics(
            fleet,
            role -> policies.getOrDefault(role, "least_load"),
            FleetSettings.DEFAULTS.maxWorkers(),
            clock::nanos,
            "1.2.3");
    metrics.use(metrics.otherNames(true, false, () -> keepsSessions));
    for (Role role : Role.values()) {
      String url = "http://" + role + ":1";
      Worker worker =
          fleet.add(new WorkerSpec(url, url, role, Set.of("m"), WorkerSpec.NO_RANK, 0, Map.of()));
      worker.probed(true);
      workers.put(role, worker);
    }
    return metrics;
  }

  private void place(RouterMetrics metrics, Role role, PickResult result) {
    PolicySetup setup =
        new PolicySetup(
            _ ->
                (request, _) -> {
                  request.picked(result);
                  return workers.get(role);
                },
            List.of());
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            setup,
            EngineSettings.DEFAULTS,
            metrics.engineListener(),
            clock::nanos,
            ScriptedRandomSource.seeded(1)::roll);
    RoutingRequest request = RoutingRequest.builder().role(role).model("m").build();
    ((Decision.Routed) engine.decide(request)).lease().ignored();
  }

  private static PickResult lookedUp(KvTally.LookupOutcome outcome) {
    return PickResult.of(PickReason.LEAST_COST).withLookup(outcome);
  }

  private static double prefix(RouterMetrics metrics, String policy, String stage, String outcome) {
    String labels = "{outcome=\"%s\",policy=\"%s\",stage=\"%s\"}".formatted(outcome, policy, stage);
    return Scraped.of(metrics.registry()).value(PREFIX + labels);
  }

  private static double session(RouterMetrics metrics, String outcome) {
    String labels = "{outcome=\"%s\",stage=\"decode\"}".formatted(outcome);
    return Scraped.of(metrics.registry()).value(SESSION + labels);
  }

  @Test
  void decisionsOfCacheAwareAreCountedByOutcome() {
    policies.put(Role.REGULAR, "cache_aware");
    RouterMetrics metrics = metrics(false);
    place(metrics, Role.REGULAR, PickResult.of(PickReason.PREFIX_HIT));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.PREFIX_HIT));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.PREFIX_MISS));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.LOAD_IMBALANCE));

    assertThat(prefix(metrics, "cache_aware", "regular", "prefix_hit")).isEqualTo(2);
    assertThat(prefix(metrics, "cache_aware", "regular", "prefix_miss")).isEqualTo(1);
    assertThat(prefix(metrics, "cache_aware", "regular", "load_imbalance")).isEqualTo(1);
  }

  @Test
  void decisionsOfKvAwareShowWhetherKvEventsWereUsed() {
    policies.put(Role.REGULAR, "kv_aware");
    RouterMetrics metrics = metrics(true);
    place(metrics, Role.REGULAR, lookedUp(KvTally.LookupOutcome.HIT));
    place(metrics, Role.REGULAR, lookedUp(KvTally.LookupOutcome.MISS));
    place(metrics, Role.REGULAR, lookedUp(KvTally.LookupOutcome.NOT_ANNOUNCED));
    place(metrics, Role.REGULAR, lookedUp(KvTally.LookupOutcome.UNKNOWN_TOKENS));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.LEAST_LOAD));
    place(
        metrics, Role.REGULAR, lookedUp(KvTally.LookupOutcome.HIT).instead(PickReason.STICKY_BIND));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.STICKY_HIT));

    assertThat(prefix(metrics, "kv_aware", "regular", "prefix_cost")).isEqualTo(3);
    assertThat(prefix(metrics, "kv_aware", "regular", "unverified_identity")).isEqualTo(1);
    assertThat(prefix(metrics, "kv_aware", "regular", "missing_tokens")).isEqualTo(2);
    assertThat(prefix(metrics, "kv_aware", "regular", "sticky_hit")).isEqualTo(1);
    assertThat(session(metrics, "sticky_hit")).as("whole requests").isNaN();
  }

  @Test
  void stagesAreSeparateAndDecodeIgnoresPrefixesUnderKvAware() {
    policies.put(Role.PREFILL, "kv_aware");
    policies.put(Role.DECODE, "kv_aware");
    RouterMetrics metrics = metrics(false);
    place(metrics, Role.PREFILL, lookedUp(KvTally.LookupOutcome.MISS));
    place(metrics, Role.DECODE, PickResult.of(PickReason.LEAST_LOAD));

    assertThat(prefix(metrics, "kv_aware", "prefill", "prefix_cost")).isEqualTo(1);
    assertThat(Scraped.of(metrics.registry()).series())
        .filteredOn(series -> series.startsWith(PREFIX) || series.startsWith(SESSION))
        .hasSize(1);
  }

  @Test
  void sessionDecisionsAreCountedForDecodeWorkers() {
    RouterMetrics metrics = metrics(true);
    place(metrics, Role.DECODE, PickResult.of(PickReason.STICKY_HIT));
    place(metrics, Role.DECODE, PickResult.of(PickReason.STICKY_BIND));
    place(metrics, Role.DECODE, PickResult.of(PickReason.STICKY_MOVE));
    place(metrics, Role.DECODE, PickResult.of(PickReason.STICKY_FULL));
    place(metrics, Role.DECODE, PickResult.of(PickReason.LEAST_LOAD));
    place(metrics, Role.DECODE, PickResult.of(PickReason.STICKY_BYPASS));

    for (String outcome :
        List.of("sticky_hit", "bind", "rebind", "capacity_bypass", "no_session")) {
      assertThat(session(metrics, outcome)).as(outcome).isEqualTo(1);
    }
    assertThat(Scraped.of(metrics.registry()).series())
        .filteredOn(series -> series.startsWith(SESSION))
        .hasSize(5);
  }

  @Test
  void decisionsOnModelsWithTheirOwnPolicyCountUnderIt() {
    RouterMetrics metrics = metrics(false);
    metrics.policiesOfModels(Map.of("m", "cache_aware"));
    place(metrics, Role.REGULAR, PickResult.of(PickReason.PREFIX_MISS));

    assertThat(prefix(metrics, "cache_aware", "regular", "prefix_miss")).isEqualTo(1);
  }
}
