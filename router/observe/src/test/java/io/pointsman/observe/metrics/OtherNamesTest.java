package io.pointsman.observe.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.request.Endpoint;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Metrics under the names of other routers. */
class OtherNamesTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet =
      new Fleet(FleetSettings.DEFAULTS.withoutEjectionLimit(), clock::nanos);
  private final RouterMetrics metrics =
      new RouterMetrics(
          fleet,
          role -> "of_" + role.name().toLowerCase(Locale.ROOT),
          FleetSettings.DEFAULTS.maxWorkers(),
          clock::nanos,
          "1.2.3");

  private Worker worker(Role role, String url) {
    Worker worker =
        fleet.add(new WorkerSpec(url, url, role, Set.of("m"), WorkerSpec.NO_RANK, 0, Map.of()));
    worker.probed(true);
    return worker;
  }

  private void placed(Worker worker) {
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            new PolicySetup(_ -> (_, _) -> worker, List.of()),
            EngineSettings.DEFAULTS,
            metrics.engineListener(),
            clock::nanos,
            ScriptedRandomSource.seeded(1)::roll);
    RoutingRequest request = RoutingRequest.builder().role(worker.spec().role()).build();
    ((Decision.Routed) engine.decide(request)).lease().ignored();
  }

  private double value(String series) {
    return Scraped.of(metrics.registry()).value(series);
  }

  @Test
  void vllmRouterNamesHaveThePolicyOfEachRole() {
    metrics.withVllmRouterNames(false);
    placed(worker(Role.PREFILL, "http://p:1"));
    placed(worker(Role.DECODE, "http://d:1"));

    String decisions = "vllm_router_policy_decisions_total{policy=\"%s\",worker=\"%s\"}";
    assertThat(value(decisions.formatted("of_prefill", "http://p:1"))).isEqualTo(1);
    assertThat(value(decisions.formatted("of_decode", "http://d:1"))).isEqualTo(1);
    assertThat(value("vllm_router_pd_prefill_requests_total{worker=\"http://p:1\"}")).isEqualTo(1);
    assertThat(value("vllm_router_pd_decode_requests_total{worker=\"http://d:1\"}")).isEqualTo(1);
    assertThat(value("vllm_router_pd_prefill_requests_total{worker=\"http://d:1\"}")).isNaN();
  }

  @Test
  void refusalsArePdErrorsOnlyInASplitFleet() {
    metrics.withVllmRouterNames(false);
    String errors = "vllm_router_pd_errors_total{error_type=\"server_selection\"}";
    worker(Role.REGULAR, "http://a:1");
    metrics.engineListener().rejected(RoutingRequest.builder().build(), RejectReason.UNKNOWN_MODEL);
    assertThat(value(errors)).isNaN();

    worker(Role.DECODE, "http://d:1");
    assertThat(value(errors)).isEqualTo(1);
  }

  @Test
  void stackNamesStillCountModelsThatHaveLeft() {
    metrics.withProductionStackNames();
    Worker worker = worker(Role.REGULAR, "http://a:1");
    assertThat(value("vllm:healthy_pods_total{server=\"http://a:1\"}")).isEqualTo(1);
    worker.probed(false);
    assertThat(value("vllm:num_requests_running{server=\"http://a:1\"}")).isZero();
    assertThat(value("vllm:num_incoming_requests_total{model=\"m\"}")).isZero();

    fleet.remove(worker.id());
    TestReport refused = TestReport.served(Endpoint.CHAT_COMPLETIONS, 503);
    metrics.proxyListener().ended(refused.forModel("m"));
    metrics.proxyListener().ended(refused.forModel("invented"));
    metrics.proxyListener().ended(refused);

    assertThat(value("vllm:healthy_pods_total{server=\"http://a:1\"}")).isNaN();
    assertThat(value("vllm:num_incoming_requests_total{model=\"m\"}")).isEqualTo(1);
    assertThat(value("vllm:num_incoming_requests_total{model=\"other\"}")).isEqualTo(1);
  }

  @Test
  void requestsForAConfiguredModelAreCountedByNameBeforeAWorkerServesIt() {
    metrics.withProductionStackNames();
    metrics.policiesOfModels(Map.of("sleeping", "cost"));
    assertThat(value("vllm:num_incoming_requests_total{model=\"sleeping\"}")).isZero();

    metrics
        .proxyListener()
        .ended(TestReport.served(Endpoint.CHAT_COMPLETIONS, 503).forModel("sleeping"));

    assertThat(value("vllm:num_incoming_requests_total{model=\"sleeping\"}")).isEqualTo(1);
    assertThat(value("vllm:num_incoming_requests_total{model=\"other\"}")).isZero();
  }
}
