package io.pointsman.observe.metrics;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.sun.management.ThreadMXBean;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEvents;
import io.pointsman.control.kvtokens.TokenTally;
import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.engine.shadow.ShadowReport;
import io.pointsman.engine.shadow.ShadowReport.Side;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.retry.PoisonMemory;
import io.pointsman.proxy.retry.PoisonSettings;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ConnectionTally;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.telemetry.RequestEvent.QueueWaitEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestRetried;
import io.pointsman.proxy.telemetry.RequestEvent.RequestStarted;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.Endpoint;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RouterMetricsTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet =
      new Fleet(FleetSettings.DEFAULTS.withoutEjectionLimit(), clock::nanos);
  private final RouterMetrics metrics =
      new RouterMetrics(
          fleet, _ -> "cache_aware", FleetSettings.DEFAULTS.maxWorkers(), clock::nanos, "1.2.3");
  private long fresh;
  private Worker worker = fleet.add(WorkerSpec.of("http://a:1").withModels(Set.of("llama")));

  @BeforeEach
  void workerIsUp() {
    worker.probed(true);
  }

  private Scraped scraped() {
    return Scraped.of(metrics.registry());
  }

  private Lease lease(Picker picker, RoutingRequest request) {
    return ((Decision.Routed) engine(picker).decide(request)).lease();
  }

  private Lease learned(Picker picker, RoutingRequest request, AnswerLearner learner) {
    PolicySetup setup = new PolicySetup(_ -> picker, List.of()).withAnswers(learner);
    return ((Decision.Routed) engine(setup).decide(request)).lease();
  }

  private RoutingEngine engine(Picker picker) {
    return engine(new PolicySetup(_ -> picker, List.of()));
  }

  private RoutingEngine engine(PolicySetup setup) {
    return new RoutingEngine(
        fleet,
        setup,
        EngineSettings.DEFAULTS,
        metrics.engineListener(),
        clock::nanos,
        ScriptedRandomSource.seeded(1)::roll);
  }

  private Choices choices() {
    return new Choices(
        engine(always(PickReason.RANDOM, 0)),
        ExternalLeaseSettings.DEFAULTS,
        clock::nanos,
        ScriptedRandomSource.seeded(2)::roll);
  }

  @Test
  void requestsAreCountedByTheNamesOfAtMost64ClientsOfASource() {
    TestReport report = TestReport.served(Endpoint.COMPLETIONS, 200);
    metrics.proxyListener().on(report.ended());
    for (int i = 0; i < 100; i++) {
      metrics.proxyListener().on(report.of(client("key-" + i)).ended());
    }
    metrics.proxyListener().on(report.of(client("key-1")).ended());
    Scraped scraped = scraped();
    String series = "pointsman_client_requests_total{client=\"%s\",source=\"%s\"}";
    assertThat(scraped.value(series.formatted("key-1", "key"))).isEqualTo(2);
    assertThat(scraped.value(series.formatted("other", "key"))).isEqualTo(36);
    assertThat(scraped.value(series.formatted("unknown", "address"))).isEqualTo(1);
    metrics.proxyListener().on(new LimitReached(client("key-1"), ClientLimit.CONCURRENCY));
    metrics.proxyListener().on(new LimitReached(client("key-99"), ClientLimit.CONCURRENCY));
    String limited =
        "pointsman_client_limited_total{client=\"%s\",limit=\"concurrency\",source=\"key\"}";
    assertThat(scraped().value(limited.formatted("key-1"))).isEqualTo(1);
    assertThat(scraped().value(limited.formatted("other"))).isEqualTo(1);
  }

  private static ClientIdentity client(String name) {
    return new ClientIdentity(ClientIdentity.Kind.KEY, name, Set.of());
  }

  @Test
  void leasesOfExternalProxiesAreCountedByTheirEnd() {
    worker.probed(true);
    Choices choices = choices();
    metrics.externalLeases(choices);
    Duration ttl = Duration.ofSeconds(1);
    List<Choice.Leased> held = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      RoutingRequest request = RoutingRequest.builder().model("llama").build();
      held.add((Choice.Leased) choices.choose(request, ttl));
    }
    choices.settle(held.get(0).lease(), Outcome.SUCCEEDED, new TokenCounts(9, 4, 2));
    assertThat(scraped().value("pointsman_external_leases")).isEqualTo(2);
    clock.advance(ttl);
    choices.expireDue();

    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_external_leases")).isZero();
    assertThat(scraped.value("pointsman_external_leases_ended_total{outcome=\"succeeded\"}"))
        .isEqualTo(1);
    assertThat(scraped.value("pointsman_external_leases_ended_total{outcome=\"expired\"}"))
        .isEqualTo(2);
    assertThat(scraped.value("pointsman_reported_tokens_total{kind=\"cached\"}")).isEqualTo(4);
    assertThat(worker.inFlight()).isZero();
  }

  private Picker always(PickReason reason, int blocks) {
    return (request, _) -> {
      request.picked(PickResult.of(reason, blocks));
      return worker;
    };
  }

  @Test
  void requestsAreCountedByEndpointCodeAndModel() {
    metrics
        .proxyListener()
        .on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).forModel("llama").ended());
    metrics.proxyListener().on(TestReport.served(Endpoint.EMBEDDINGS, 404).ended());
    metrics.proxyListener().on(TestReport.served(Endpoint.EMBEDDINGS, 404).ended());
    Scraped scraped = scraped();
    assertThat(
            scraped.value(
                "pointsman_requests_total{code=\"200\",endpoint=\"chat_completions\",model=\"llama\"}"))
        .isEqualTo(1);
    assertThat(
            scraped.value(
                "pointsman_requests_total{code=\"404\",endpoint=\"embeddings\",model=\"\"}"))
        .isEqualTo(2);
  }

  @Test
  void inventedModelsAndStatusesShareOneSeries() {
    for (int i = 0; i < 1000; i++) {
      metrics
          .proxyListener()
          .on(TestReport.served(Endpoint.COMPLETIONS, 540 + i % 50).forModel("junk-" + i).ended());
    }
    assertThat(
            scraped()
                .value(
                    "pointsman_requests_total{code=\"5xx\",endpoint=\"completions\",model=\"other\"}"))
        .isEqualTo(1000);
  }

  @Test
  void modelsAboveTheLimitShareOneSeries() {
    for (int i = 0; i < 100; i++) {
      fleet.add(WorkerSpec.of("http://m:" + (1000 + i)).withModels(Set.of("model-" + i)));
    }
    for (int i = 0; i < 100; i++) {
      metrics
          .proxyListener()
          .on(TestReport.served(Endpoint.COMPLETIONS, 200).forModel("model-" + i).ended());
    }
    assertThat(scraped().series())
        .filteredOn(series -> series.startsWith("pointsman_requests_total"))
        .hasSizeLessThanOrEqualTo(RouterMetrics.MOST_MODELS + 1);
  }

  @Test
  void errorsHaveABlame() {
    metrics.proxyListener().on(TestReport.failed(503, Blame.ROUTER).ended());
    metrics.proxyListener().on(TestReport.failed(499, Blame.CLIENT).afterClientLeft().ended());
    metrics.proxyListener().on(TestReport.failed(200, Blame.UPSTREAM).ended());
    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_errors_total{blame=\"router\",kind=\"503\"}")).isEqualTo(1);
    assertThat(scraped.value("pointsman_errors_total{blame=\"client\",kind=\"client_left\"}"))
        .isEqualTo(1);
    assertThat(scraped.value("pointsman_errors_total{blame=\"upstream\",kind=\"cut\"}"))
        .isEqualTo(1);
  }

  @Test
  void requestsInFlightRiseAndFall() {
    metrics.proxyListener().on(new RequestStarted(Endpoint.CHAT_COMPLETIONS));
    metrics.proxyListener().on(new RequestStarted(Endpoint.CHAT_COMPLETIONS));
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).ended());
    assertThat(scraped().value("pointsman_requests_in_flight")).isEqualTo(1);
  }

  @Test
  void timesAreCountedInTheirBuckets() {
    metrics
        .proxyListener()
        .on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).asStream().ended());
    Scraped scraped = scraped();
    String ttft = "pointsman_time_to_first_token_seconds_bucket{endpoint=\"chat_completions\",le=";
    assertThat(scraped.value(ttft + "\"0.025\"}")).isZero();
    assertThat(scraped.value(ttft + "\"0.05\"}")).isEqualTo(1);
    String whole = "pointsman_request_duration_seconds_bucket{endpoint=\"chat_completions\",le=";
    assertThat(scraped.value(whole + "\"1.0\"}")).isZero();
    assertThat(scraped.value(whole + "\"2.5\"}")).isEqualTo(1);
  }

  @Test
  void timeToFirstTokenIsMeasuredOnlyForStreams() {
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).ended());
    assertThat(
            scraped()
                .value(
                    "pointsman_time_to_first_token_seconds_count{endpoint=\"chat_completions\"}"))
        .isZero();
  }

  @Test
  void bytesAndChunksAddUp() {
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).ended());
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).ended());
    assertThat(scraped().value("pointsman_response_bytes_total")).isEqualTo(2000);
    assertThat(scraped().value("pointsman_response_chunks_total")).isEqualTo(14);
  }

  @Test
  void retriesAreCountedByReason() {
    metrics.proxyListener().on(new RequestRetried(Endpoint.CHAT_COMPLETIONS, RetryReason.CONNECT));
    assertThat(scraped().value("pointsman_retries_total{reason=\"connect\"}")).isEqualTo(1);
    assertThat(scraped().value("pointsman_retries_total{reason=\"busy\"}")).isZero();
  }

  /**
   * The resend goes to the same worker; vllm-router's alerts use this metric for failing workers.
   */
  @Test
  void aResendIsNoRetryUnderVllmRoutersNames() {
    metrics.use(metrics.otherNames(true, false, () -> false));
    metrics.proxyListener().on(new RequestRetried(Endpoint.CHAT_COMPLETIONS, RetryReason.STALE));
    String retries = "vllm_router_retries_total{route=\"/v1/chat/completions\"}";
    assertThat(scraped().value("pointsman_retries_total{reason=\"stale\"}")).isEqualTo(1);
    assertThat(scraped().value(retries)).isZero();
    metrics.proxyListener().on(new RequestRetried(Endpoint.CHAT_COMPLETIONS, RetryReason.CONNECT));
    assertThat(scraped().value(retries)).isEqualTo(1);
  }

  @Test
  void waitingIsMeasured() {
    metrics.proxyListener().on(new QueueWaitEnded(Duration.ofMillis(60).toNanos(), true));
    metrics.queue(() -> 5).deferred(() -> 0).clients(() -> 7, () -> 9);
    assertThat(scraped().value("pointsman_queue_wait_seconds_bucket{le=\"0.05\"}")).isZero();
    assertThat(scraped().value("pointsman_queue_wait_seconds_bucket{le=\"0.1\"}")).isEqualTo(1);
    assertThat(scraped().value("pointsman_queue_length")).isEqualTo(5);
    assertThat(scraped().value("pointsman_client_connections")).isEqualTo(7);
    assertThat(scraped().value("pointsman_client_connections_limit")).isEqualTo(9);
  }

  @Test
  void decisionsAreCountedByReasonAndMatchesByShare() {
    RoutingRequest request =
        RoutingRequest.builder().prefix(new PrefixBlocks(new long[10], 10, 160, 16, 160)).build();
    lease(always(PickReason.PREFIX_HIT, 5), request).succeeded();
    Scraped scraped = scraped();
    assertThat(
            scraped.value(
                "pointsman_policy_decisions_total{policy=\"cache_aware\",reason=\"prefix_hit\"}"))
        .isEqualTo(1);
    assertThat(scraped.value("pointsman_prefix_match_ratio_bucket{le=\"0.4\"}")).isZero();
    assertThat(scraped.value("pointsman_prefix_match_ratio_bucket{le=\"0.5\"}")).isEqualTo(1);
  }

  @Test
  void decisionsThatIgnorePromptsCountNoMatches() {
    lease(always(PickReason.TURN, 0), RoutingRequest.builder().build()).succeeded();
    assertThat(scraped().value("pointsman_prefix_match_ratio_count")).isZero();
  }

  @Test
  void aPolicyThatThrowsIsCounted() {
    lease(
            (_, _) -> {
              throw new IllegalStateException("broken");
            },
            RoutingRequest.builder().build())
        .succeeded();
    assertThat(scraped().value("pointsman_policy_failures_total")).isEqualTo(1);
    assertThat(
            scraped()
                .value(
                    "pointsman_policy_decisions_total{policy=\"cache_aware\",reason=\"fallback\"}"))
        .isEqualTo(1);
  }

  @Test
  void rejectsAreCountedByReason() {
    engine((_, _) -> null).decide(RoutingRequest.builder().model("no-such").build());
    assertThat(scraped().value("pointsman_rejects_total{reason=\"unknown_model\"}")).isEqualTo(1);
  }

  @Test
  void aWorkersSeriesShowItsState() {
    Lease running = lease(always(PickReason.TURN, 0), RoutingRequest.builder().build());
    lease(always(PickReason.TURN, 0), RoutingRequest.builder().build()).failed(Failure.ERROR);
    lease(always(PickReason.TURN, 0), RoutingRequest.builder().build()).ignored();
    worker.rest(1_000_000);
    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_worker_requests_in_flight{worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped.value("pointsman_worker_healthy{worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped.value("pointsman_worker_resting{worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped.value("pointsman_worker_breaker_state{worker=\"a:1\"}")).isZero();
    String requests = "pointsman_worker_requests_total{outcome=";
    assertThat(scraped.value(requests + "\"failed\",worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped.value(requests + "\"ignored\",worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped.value(requests + "\"succeeded\",worker=\"a:1\"}")).isZero();
    running.succeeded();
    assertThat(scraped().value("pointsman_worker_requests_in_flight{worker=\"a:1\"}")).isZero();
  }

  @Test
  void anOpenBreakerIsVisible() {
    for (int i = 0; i < 10; i++) {
      lease(always(PickReason.TURN, 0), RoutingRequest.builder().build()).failed(Failure.ERROR);
    }
    assertThat(scraped().value("pointsman_worker_breaker_state{worker=\"a:1\"}")).isEqualTo(1);
    assertThat(scraped().value("pointsman_worker_breaker_openings_total{worker=\"a:1\"}"))
        .isEqualTo(1);
    assertThat(scraped().value("pointsman_workers{state=\"out\"}")).isEqualTo(1);
  }

  @Test
  void theSeriesOfALeavingWorkerDisappear() {
    Lease late = lease(always(PickReason.TURN, 0), RoutingRequest.builder().build());
    fleet.remove("a:1");
    late.succeeded();
    assertThat(scraped().series()).noneMatch(series -> series.contains("a:1"));
  }

  @Test
  void aWorkerThatComesBackStartsFromZero() {
    lease(always(PickReason.TURN, 0), RoutingRequest.builder().build()).succeeded();
    fleet.remove("a:1");
    worker = fleet.add(WorkerSpec.of("http://a:1"));
    assertThat(
            scraped()
                .value("pointsman_worker_requests_total{outcome=\"succeeded\",worker=\"a:1\"}"))
        .isZero();
  }

  @Test
  void theProcessIsMeasured() {
    Scraped scraped = scraped();
    assertThat(scraped.value("process_resident_memory_bytes")).isGreaterThan(1 << 20);
    assertThat(scraped.value("process_open_fds")).isPositive();
    assertThat(scraped.value("jvm_memory_used_bytes{area=\"heap\"}")).isPositive();
    assertThat(scraped.series())
        .anyMatch(series -> series.startsWith("pointsman_build_info") && series.contains("1.2.3"));
  }

  @Test
  void vllmRouterNamesHaveTheSameValues() {
    metrics.use(metrics.otherNames(true, false, () -> false));
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).ended());
    metrics.proxyListener().on(TestReport.served(Endpoint.CHAT_COMPLETIONS, 400).ended());
    Lease running = lease(always(PickReason.PREFIX_MISS, 0), RoutingRequest.builder().build());
    Scraped scraped = scraped();
    running.ignored();
    assertThat(scraped.value("vllm_router_requests_total{route=\"/v1/chat/completions\"}"))
        .isEqualTo(1);
    assertThat(scraped.value("vllm_router_running_requests{worker=\"http://a:1\"}")).isEqualTo(1);
    assertThat(scraped.value("vllm_router_cb_state{worker=\"http://a:1\"}")).isZero();
    assertThat(
            scraped.value(
                "vllm_router_policy_decisions_total{policy=\"cache_aware\",worker=\"http://a:1\"}"))
        .isEqualTo(1);
    assertThat(scraped.value("vllm_router_cache_misses_total")).isEqualTo(1);
    assertThat(scraped.value("vllm_router_active_workers")).isEqualTo(1);
  }

  @Test
  void workersWithOneUrlShareASeriesUnderVllmRoutersNames() {
    metrics.use(metrics.otherNames(true, false, () -> false));
    Worker twin =
        fleet.add(
            new WorkerSpec(
                "ns/pod", "http://a:1", Role.REGULAR, Set.of(), WorkerSpec.NO_RANK, 0, Map.of()));
    Lease first = lease(always(PickReason.RANDOM, 0), RoutingRequest.builder().build());
    assertThat(scraped().value("vllm_router_worker_health{worker=\"http://a:1\"}")).isZero();
    twin.probed(true);
    worker = twin;
    Lease second = lease(always(PickReason.RANDOM, 0), RoutingRequest.builder().build());
    Scraped scraped = scraped();
    first.ignored();
    second.ignored();
    assertThat(scraped.value("vllm_router_worker_health{worker=\"http://a:1\"}")).isEqualTo(1);
    assertThat(scraped.value("vllm_router_running_requests{worker=\"http://a:1\"}")).isEqualTo(2);
    assertThat(
            scraped.value(
                "vllm_router_policy_decisions_total{policy=\"cache_aware\",worker=\"http://a:1\"}"))
        .isEqualTo(2);
  }

  @Test
  void countingARequestAllocatesNothing() {
    RequestStarted started = new RequestStarted(Endpoint.CHAT_COMPLETIONS);
    RequestRetried retried = new RequestRetried(Endpoint.CHAT_COMPLETIONS, RetryReason.BUSY);
    RequestEnded ended =
        TestReport.served(Endpoint.CHAT_COMPLETIONS, 200).forModel("llama").asStream().ended();
    RoutingRequest request =
        RoutingRequest.builder().prefix(new PrefixBlocks(new long[10], 10, 160, 16, 160)).build();
    Lease lease = lease(always(PickReason.PREFIX_HIT, 5), request);
    Runnable counting =
        () -> {
          metrics.proxyListener().on(started);
          metrics.engineListener().routed(request, lease);
          metrics.proxyListener().on(retried);
          metrics.engineListener().settled(lease, Outcome.SUCCEEDED);
          metrics.proxyListener().on(ended);
        };
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    long start = System.nanoTime();
    // Repeats until the JIT compiler has compiled the code.
    while (least > 0 && System.nanoTime() - start < Await.LONG.toNanos()) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 1000; i++) {
        counting.run();
      }
      least = Math.min(least, (threads.getCurrentThreadAllocatedBytes() - before) / 1000);
    }
    lease.ignored();
    assertThat(least).as("bytes for each request, once compiled").isZero();
  }

  @Test
  void predictionsAreComparedWithMeasurements() {
    AnswerLearner predictions = metrics.predictions();
    RoutingRequest request =
        RoutingRequest.builder().prefix(new PrefixBlocks(new long[10], 10, 160, 16, 160)).build();
    Lease lease = learned(always(PickReason.LEAST_COST, 5), request, predictions);
    request.picked(request.result().withPredictedMillis(50));
    clock.advance(Duration.ofSeconds(1));
    lease.firstTokenAfter(Duration.ofMillis(80).toNanos());
    lease.reported(new Usage(160, 48, 3));
    lease.succeeded();

    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_predicted_ttft_seconds_sum{kind=\"predicted\"}"))
        .isEqualTo(0.05);
    assertThat(scraped.value("pointsman_predicted_ttft_seconds_sum{kind=\"measured\"}"))
        .isEqualTo(0.08);
    assertThat(scraped.value("pointsman_ttft_prediction_error_seconds_sum{side=\"early\"}"))
        .isCloseTo(0.03, within(1e-9));
    assertThat(scraped.value("pointsman_ttft_prediction_error_seconds_count{side=\"late\"}"))
        .isZero();
    // Half of the prompt was expected, three tenths were found.
    assertThat(scraped.value("pointsman_hit_prediction_error_ratio_sum{side=\"over\"}"))
        .isCloseTo(0.2, within(1e-9));
  }

  @Test
  void unpredictedRequestsAreNotCompared() {
    AnswerLearner predictions = metrics.predictions();
    RoutingRequest request = RoutingRequest.builder().build();
    Picker kept =
        (asked, _) -> {
          asked.picked(PickResult.of(PickReason.STICKY_HIT));
          return worker;
        };
    Lease lease = learned(kept, request, predictions);
    lease.firstToken();
    lease.reported(new Usage(160, 48, 3));
    lease.succeeded();

    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_predicted_ttft_seconds_count{kind=\"measured\"}")).isZero();
    assertThat(scraped.value("pointsman_hit_prediction_error_ratio_count{side=\"under\"}"))
        .isZero();
  }

  @Test
  void cacheMissesAreCountedByReason() {
    CacheMissAttribution first = new CacheMissAttribution();
    CacheMissAttribution second = new CacheMissAttribution();
    metrics.cacheMisses(List.of(first, second));
    first.add(1000, 600, 500);
    first.lost(CacheMiss.EVICTED, 100);
    second.lost(CacheMiss.EVICTED, 20);

    Scraped scraped = scraped();
    assertThat(scraped.value("pointsman_cache_misses_total{reason=\"evicted\"}")).isEqualTo(2);
    assertThat(scraped.value("pointsman_cache_miss_tokens_total{reason=\"evicted\"}"))
        .isEqualTo(120);
    assertThat(scraped.value("pointsman_cache_misses_total{reason=\"tokens_differ\"}")).isZero();
    assertThat(scraped.value("pointsman_prompt_tokens_total{kind=\"expected\"}")).isEqualTo(600);
  }

  @Test
  void everyDocumentedMetricExists() {
    AnswerLearner unused = metrics.predictions();
    assertThat(unused).isNotNull();
    metrics.cacheMisses(List.of());
    Side side = new Side(10, 1000, 400, 500, 1.5);
    metrics.shadow(() -> new ShadowReport(side, side, 7, 1, 2, 3));
    metrics
        .queue(() -> 0)
        .deferred(() -> 0)
        .clients(() -> 0, () -> 0)
        .protocols(new ConnectionTally(), () -> 0)
        .discovery(new WorkerSources(fleet), new DiscoveryTally())
        .poison(new PoisonMemory(PoisonSettings.OFF, clock::nanos))
        .bodies(new BodyBudget(0))
        .sessions(() -> 0)
        .prefixIndex(List.of(new PrefixIndex(64 << 10, 8)));
    metrics.cacheModels(List.of());
    metrics.fallbacks(List.of());
    metrics.kvIndex(new KvIndex(1 << 20, 8, () -> 0));
    metrics.spans(() -> 4, () -> 5, () -> 6);
    metrics.capture(() -> 7, () -> 8, () -> 9);
    metrics.externalLeases(choices());
    metrics.splitWaiting(() -> 0);
    metrics.kvEvents(hearing(), new KvEventTally());
    KnownTexts texts = new KnownTexts(1 << 20, clock::nanos);
    metrics.kvTokens(new TokenTally(), () -> texts);
    assertThat(metrics.meters().made()).containsExactlyInAnyOrderElementsOf(Metric.all());
    assertThat(scraped().value("pointsman_shadow_placements_total{result=\"differed\"}"))
        .isEqualTo(3);
    assertThat(scraped().value("pointsman_shadow_predicted_ttft_seconds_total{side=\"active\"}"))
        .isEqualTo(0.5);
  }

  @Test
  void tooSmallIndexesAndCacheModelsAreVisible() {
    CostSettings small = CostSettings.DEFAULTS.withMaxBytes(2 << 20).withKvTokens(1_000_000_000);
    PolicyParts parts =
        new PolicyParts(clock::nanos, _ -> 0, 16_384, PolicySettings.DEFAULTS.withCost(small));
    PolicySetup cost = Policies.create("cost", parts);
    PrefixIndex index = requireNonNull(cost.prefixes(), "prefixes");
    metrics.prefixIndex(List.of(index));
    metrics.cacheModels(List.of(requireNonNull(cost.insight(), "insight")));
    assertThat(scraped().value("pointsman_prefix_index_evictions_total")).isZero();
    assertThat(scraped().value("pointsman_cost_cache_bytes")).isZero();

    RoutingEngine engine = engine(cost);
    for (int i = 0; i < 20_000; i++) {
      long[] hashes = new long[16];
      Arrays.setAll(hashes, n -> PrefixBlocks.mix(fresh++));
      PrefixBlocks prompt = new PrefixBlocks(hashes, 16, 256, 16, 256);
      Decision decision = engine.decide(RoutingRequest.builder().prefix(prompt).build());
      ((Decision.Routed) decision).lease().succeeded();
    }
    assertThat(scraped().value("pointsman_prefix_index_evictions_total")).isPositive();
    double most = scraped().value("pointsman_cost_cache_max_bytes");
    assertThat(most).isBetween(300_000.0, (double) (1 << 20));
    assertThat(scraped().value("pointsman_cost_cache_bytes")).isBetween(0.7 * most, most);
  }

  private KvEvents hearing() {
    KvFeed nobody =
        new KvFeed() {
          @Override
          public void apply(Worker of, int rank, Iterable<? extends KvEvent> events) {}

          @Override
          public void reset(Worker of, int rank, Cause cause) {}

          @Override
          public void restarted(Worker of, int rank, long lostUntil) {}

          @Override
          public void live(Worker of, int rank, boolean live) {}
        };
    return new KvEvents(
        KvEventSettings.DEFAULTS,
        fleet,
        nobody,
        (role, url, patience) -> new EngineClient.Answer(404, new byte[0]),
        _ -> false,
        new KvEventTally(),
        clock::nanos,
        InstantSource.system());
  }
}
