package io.pointsman.observe.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.ReportedLoad;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.request.Endpoint;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
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
    lease(worker).ignored();
  }

  private Lease lease(Worker worker) {
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            new PolicySetup(_ -> (_, _) -> worker, List.of()),
            EngineSettings.DEFAULTS,
            metrics.engineListener(),
            clock::nanos,
            ScriptedRandomSource.seeded(1)::roll);
    RoutingRequest request = RoutingRequest.builder().role(worker.spec().role()).build();
    return ((Decision.Routed) engine.decide(request)).lease();
  }

  private double value(String series) {
    return Scraped.of(metrics.registry()).value(series);
  }

  @Test
  void namesBeginAndEndWithAllTheirSeries() {
    Worker worker = worker(Role.REGULAR, "http://a:1");
    OtherNames none = metrics.otherNames();
    List<String> first = names();
    for (int i = 0; i < 3; i++) {
      metrics.use(metrics.otherNames(true, true, () -> false));
      assertThat(metrics.proxyListener().readsUsage()).isTrue();
      metrics.proxyListener().on(served(worker).ended());
      assertThat(names()).doesNotHaveDuplicates().containsAll(first);
      assertThat(value("vllm_router_generate_duration_seconds_count")).isEqualTo(1);
      assertThat(value("vllm:healthy_pods_total{server=\"http://a:1\"}")).isEqualTo(1);
      assertThat(value("vllm_router_requests_total{route=\"/v1/chat/completions\"}"))
          .isEqualTo(i + 1);

      metrics.use(metrics.otherNames(true, false, () -> false));
      assertThat(metrics.proxyListener().readsUsage()).isFalse();
      assertThat(names()).noneMatch(name -> name.startsWith("vllm:"));
      assertThat(value("vllm_router_generate_duration_seconds_count")).isEqualTo(1);

      metrics.use(none);
      assertThat(names()).isEqualTo(first);
    }
  }

  /** Names that are taken back after a failed change have their counts. */
  @Test
  void namesThatComeBackKeepTheirCountsAndFollowTheFleet() {
    worker(Role.REGULAR, "http://a:1");
    OtherNames stack = metrics.otherNames(false, true, () -> false);
    metrics.use(stack);
    metrics.use(metrics.otherNames(false, false, () -> false));
    Worker later = worker(Role.REGULAR, "http://b:1");
    metrics.use(stack);

    metrics.proxyListener().on(served(later).ended());

    assertThat(value("vllm:current_qps{server=\"http://b:1\"}")).isNotNegative();
    assertThat(
            value(
                "vllm:request_latency_seconds_count{model=\"m\",server=\"http://b:1\","
                    + "status=\"success\"}"))
        .isEqualTo(1);
  }

  private static TestReport served(Worker worker) {
    return TestReport.served(Endpoint.CHAT_COMPLETIONS, 200)
        .forModel("m")
        .by(worker, 1, Usage.UNKNOWN);
  }

  private List<String> names() {
    return metrics.registry().scrape().stream()
        .map(each -> each.getMetadata().getPrometheusName())
        .toList();
  }

  @Test
  void vllmRouterNamesHaveThePolicyOfEachRole() {
    metrics.use(metrics.otherNames(true, false, () -> false));
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
    metrics.use(metrics.otherNames(true, false, () -> false));
    String errors = "vllm_router_pd_errors_total{error_type=\"server_selection\"}";
    worker(Role.REGULAR, "http://a:1");
    metrics.engineListener().rejected(RoutingRequest.builder().build(), RejectReason.UNKNOWN_MODEL);
    assertThat(value(errors)).isNaN();

    worker(Role.DECODE, "http://d:1");
    assertThat(value(errors)).isEqualTo(1);
  }

  @Test
  void stackNamesStillCountModelsThatHaveLeft() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    Worker worker = worker(Role.REGULAR, "http://a:1");
    assertThat(value("vllm:healthy_pods_total{server=\"http://a:1\"}")).isEqualTo(1);
    worker.probed(false);
    assertThat(value("vllm:num_requests_running{server=\"http://a:1\"}")).isZero();
    assertThat(value("vllm:num_incoming_requests_total{model=\"m\"}")).isZero();

    fleet.remove(worker.id());
    TestReport refused = TestReport.served(Endpoint.CHAT_COMPLETIONS, 503);
    metrics.proxyListener().on(refused.forModel("m").ended());
    metrics.proxyListener().on(refused.forModel("invented").ended());
    metrics.proxyListener().on(refused.ended());

    assertThat(value("vllm:healthy_pods_total{server=\"http://a:1\"}")).isNaN();
    assertThat(value("vllm:num_incoming_requests_total{model=\"m\"}")).isEqualTo(1);
    assertThat(value("vllm:num_incoming_requests_total{model=\"other\"}")).isEqualTo(1);
  }

  @Test
  void requestsForAConfiguredModelAreCountedByNameBeforeAWorkerServesIt() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    metrics.policiesOfModels(Map.of("sleeping", "cost"));
    assertThat(value("vllm:num_incoming_requests_total{model=\"sleeping\"}")).isZero();

    metrics
        .proxyListener()
        .on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 503).forModel("sleeping").ended());

    assertThat(value("vllm:num_incoming_requests_total{model=\"sleeping\"}")).isEqualTo(1);
    assertThat(value("vllm:num_incoming_requests_total{model=\"other\"}")).isZero();
  }

  @Test
  void theStacksNamesHaveItsTypesAndLabels() {
    Map<String, String> theirs =
        Map.ofEntries(
            Map.entry("vllm:current_qps", "gauge server"),
            Map.entry("vllm:avg_decoding_length", "gauge server"),
            Map.entry("vllm:num_requests_running", "gauge server"),
            Map.entry("vllm:num_requests_waiting", "gauge server"),
            Map.entry("vllm:num_prefill_requests", "gauge server"),
            Map.entry("vllm:num_decoding_requests", "gauge server"),
            Map.entry("vllm:avg_latency", "gauge server"),
            Map.entry("vllm:avg_itl", "gauge server"),
            Map.entry("vllm:num_requests_swapped", "gauge server"),
            Map.entry("vllm:gpu_prefix_cache_hit_rate", "gauge server"),
            // Gauges there. The format permits this ending for counters alone.
            Map.entry("vllm:gpu_prefix_cache_hits_total", "counter server"),
            Map.entry("vllm:gpu_prefix_cache_queries_total", "counter server"),
            Map.entry("vllm:healthy_pods_total", "counter server"),
            Map.entry("vllm:num_incoming_requests_total", "counter model"),
            Map.entry("vllm:input_tokens_total", "counter server,model"),
            Map.entry("vllm:output_tokens_total", "counter server,model"),
            Map.entry("vllm:request_errors_total", "counter server,model,error_type"),
            Map.entry("vllm:request_latency_seconds", "histogram server,model,status"),
            Map.entry("vllm:routing_decisions_total", "counter algorithm,decision,reason"),
            Map.entry("router_cpu_usage_percent", "gauge "),
            Map.entry("router_memory_usage_percent", "gauge "),
            Map.entry("router_disk_usage_percent", "gauge "));

    assertThat(described(StackMetrics.ALL)).containsExactlyInAnyOrderEntriesOf(theirs);
  }

  /** The metrics that vllm-router records, without those in docs/migrate/vllm-router.md. */
  @Test
  void vllmRoutersNamesHaveItsTypesAndLabels() {
    Map<String, String> theirs =
        Map.ofEntries(
            Map.entry("requests_total", "counter route"),
            Map.entry("request_errors_total", "counter route,error_type"),
            Map.entry("retries_total", "counter route"),
            Map.entry("retries_exhausted_total", "counter route"),
            Map.entry("active_workers", "gauge "),
            Map.entry("worker_health", "gauge worker"),
            Map.entry("processed_requests_total", "counter worker"),
            Map.entry("policy_decisions_total", "counter policy,worker"),
            Map.entry("load_balancing_events_total", "counter "),
            Map.entry("max_load", "gauge "),
            Map.entry("min_load", "gauge "),
            Map.entry("running_requests", "gauge worker"),
            Map.entry("pd_requests_total", "counter route"),
            Map.entry("pd_request_duration_seconds", "histogram route"),
            Map.entry("pd_prefill_requests_total", "counter worker"),
            Map.entry("pd_decode_requests_total", "counter worker"),
            Map.entry("pd_errors_total", "counter error_type"),
            Map.entry("pd_prefill_errors_total", "counter worker"),
            Map.entry("pd_decode_errors_total", "counter worker"),
            Map.entry("generate_duration_seconds", "histogram "),
            Map.entry("embeddings_total", "counter "),
            Map.entry("embeddings_duration_seconds", "histogram "),
            Map.entry("embeddings_errors_total", "counter error_type"),
            Map.entry("embeddings_queue_size", "gauge "),
            Map.entry("cb_state", "gauge worker"),
            Map.entry("cb_state_transitions_total", "counter worker,from,to"),
            Map.entry("cb_outcomes_total", "counter worker,outcome"),
            Map.entry("prefix_routing_decisions_total", "counter policy,stage,outcome"));

    Map<String, String> ours = described(VllmRouterMetrics.ALL);

    theirs.forEach((stem, form) -> assertThat(ours).containsEntry("vllm_router_" + stem, form));
  }

  private static Map<String, String> described(List<VllmRouterMetrics.Name> names) {
    return names.stream()
        .collect(
            Collectors.toMap(
                VllmRouterMetrics.Name::metricName,
                name ->
                    name.kind().name().toLowerCase(Locale.ROOT)
                        + " "
                        + String.join(",", name.labels())));
  }

  @Test
  void stackNamesHaveRequestsTokensAndTimesOfAnEngine() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    assertThat(metrics.proxyListener().readsUsage()).isTrue();
    Worker worker = worker(Role.REGULAR, "http://a:1");
    assertThat(value("vllm:avg_latency{server=\"http://a:1\"}")).isEqualTo(-1);
    TestReport good = TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).forModel("m");
    TestReport bad = TestReport.failed(502, Blame.UPSTREAM).forModel("m");
    metrics.proxyListener().on(good.by(worker, 1, new Usage(100, 40, 7)).ended());
    metrics.proxyListener().on(bad.by(worker, 1, Usage.UNKNOWN).ended());
    worker.capacity().reports(new ReportedLoad(3, 4, 0.5));
    clock.advance(Duration.ofSeconds(10));

    String ofModel = "{model=\"m\",server=\"http://a:1\"}";
    assertThat(value("vllm:input_tokens_total" + ofModel)).isEqualTo(100);
    assertThat(value("vllm:output_tokens_total" + ofModel)).isEqualTo(7);
    String latency =
        "vllm:request_latency_seconds_count{model=\"m\",server=\"http://a:1\",status=\"%s\"}";
    assertThat(value(latency.formatted("success"))).isEqualTo(1);
    assertThat(value(latency.formatted("error"))).isEqualTo(1);
    String errors = "{error_type=\"502\",model=\"m\",server=\"http://a:1\"}";
    assertThat(value("vllm:request_errors_total" + errors)).isEqualTo(1);
    String server = "{server=\"http://a:1\"}";
    assertThat(value("vllm:current_qps" + server)).isEqualTo(0.2);
    assertThat(value("vllm:avg_latency" + server)).isEqualTo(2);
    assertThat(value("vllm:num_requests_waiting" + server)).isEqualTo(4);
    assertThat(value("vllm:gpu_prefix_cache_hit_rate" + server)).isEqualTo(0.4);
    assertThat(value("vllm:gpu_prefix_cache_hits_total" + server)).isEqualTo(40);
    assertThat(value("vllm:gpu_prefix_cache_queries_total" + server)).isEqualTo(100);
    assertThat(value("router_memory_usage_percent")).isBetween(0.1, 100.0);

    clock.advance(Duration.ofSeconds(70));
    value("vllm:current_qps" + server);
    assertThat(value("vllm:current_qps" + server)).isZero();
    fleet.remove(worker.id());
    assertThat(Scraped.of(metrics.registry()).series())
        .noneMatch(series -> series.contains("http://a:1"));
  }

  @Test
  void stackNamesCountRequestsBeforeAndAfterTheirFirstOutput() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    Worker worker = worker(Role.REGULAR, "http://a:1");
    String prefilling = "vllm:num_prefill_requests{server=\"http://a:1\"}";
    String answering = "vllm:num_decoding_requests{server=\"http://a:1\"}";
    Lease first = lease(worker);
    Lease second = lease(worker);
    assertThat(value(prefilling)).isEqualTo(2);
    assertThat(value(answering)).isZero();

    first.progressed();
    first.progressed();
    assertThat(value(prefilling)).isEqualTo(1);
    assertThat(value(answering)).isEqualTo(1);

    first.succeeded();
    second.ignored();
    assertThat(value(prefilling)).isZero();
    assertThat(value(answering)).isZero();
  }

  @Test
  void vllmRouterNamesCountTheChangesOfABreaker() {
    metrics.use(metrics.otherNames(true, false, () -> false));
    Worker worker = worker(Role.REGULAR, "http://a:1");
    String changes =
        "vllm_router_cb_state_transitions_total{from=\"%s\",to=\"%s\",worker=\"http://a:1\"}";
    assertThat(value(changes.formatted("closed", "open"))).isNaN();

    int failures = FleetSettings.DEFAULTS.breaker().failureThreshold();
    for (int i = 0; i < failures; i++) {
      lease(worker).failed(Failure.ERROR);
    }
    clock.advance(FleetSettings.DEFAULTS.breaker().openFor());
    lease(worker).failed(Failure.ERROR);

    assertThat(value(changes.formatted("closed", "open"))).isEqualTo(1);
    assertThat(value(changes.formatted("open", "half_open"))).isEqualTo(1);
    assertThat(value(changes.formatted("half_open", "open"))).isEqualTo(1);
    assertThat(value(changes.formatted("half_open", "closed"))).isNaN();
  }

  @Test
  void stackNamesHaveTheReasonsOfDecisions() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    placed(worker(Role.REGULAR, "http://a:1"));

    assertThat(
            Scraped.of(metrics.registry()).series().stream()
                .filter(series -> series.startsWith("vllm:routing_decisions_total"))
                .mapToDouble(this::value)
                .sum())
        .isEqualTo(1);
  }

  @Test
  void inventedModelsGetNoSeriesOfAnEngine() {
    metrics.use(metrics.otherNames(false, true, () -> false));
    Worker worker = worker(Role.REGULAR, "http://a:1");
    for (int i = 0; i < 100; i++) {
      TestReport report = TestReport.served(Endpoint.CHAT_COMPLETIONS, 404).forModel("x" + i);
      metrics.proxyListener().on(report.by(worker, 1, Usage.UNKNOWN).ended());
    }

    String errors =
        "vllm:request_latency_seconds_count{model=\"other\",server=\"http://a:1\",status=\"error\"}";
    assertThat(value(errors)).isEqualTo(100);
  }

  @Test
  void vllmRouterNamesHaveErrorsAndTimesOfRoutes() {
    metrics.use(metrics.otherNames(true, false, () -> false));
    metrics.queue(() -> 3);
    Worker decode = worker(Role.DECODE, "http://d:1");
    TestReport chat = TestReport.served(Endpoint.CHAT_COMPLETIONS, 200);
    metrics.proxyListener().on(chat.by(decode, 1, Usage.UNKNOWN).ended());
    metrics
        .proxyListener()
        .on(TestReport.failed(502, Blame.UPSTREAM).by(decode, 2, Usage.UNKNOWN).ended());
    metrics.proxyListener().on(TestReport.served(Endpoint.EMBEDDINGS, 503).ended());

    String route = "{route=\"/v1/chat/completions\"}";
    assertThat(value("vllm_router_pd_requests_total" + route)).isEqualTo(2);
    assertThat(value("vllm_router_pd_request_duration_seconds_count" + route)).isEqualTo(2);
    assertThat(value("vllm_router_generate_duration_seconds_count")).isEqualTo(1);
    assertThat(value("vllm_router_retries_exhausted_total" + route)).isEqualTo(1);
    String errors = "vllm_router_request_errors_total{error_type=\"%s\",route=\"%s\"}";
    assertThat(value(errors.formatted("non_retryable_error", "/v1/chat/completions"))).isEqualTo(1);
    assertThat(value(errors.formatted("no_available_workers", "/v1/embeddings"))).isEqualTo(1);
    assertThat(value("vllm_router_embeddings_errors_total{error_type=\"http_503\"}")).isEqualTo(1);
    assertThat(value("vllm_router_embeddings_queue_size")).isEqualTo(3);
  }
}
