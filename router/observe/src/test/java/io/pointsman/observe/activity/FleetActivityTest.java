package io.pointsman.observe.activity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.ClientRequest;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestReport.ReportedResult;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTimes;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTraffic;
import io.pointsman.request.Endpoint;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FleetActivityTest implements EngineListener {
  private static final long MILLI = 1_000_000;

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final FleetActivity activity = new FleetActivity(fleet, 64, clock::nanos);
  private final ProxyListener proxy = activity.around(ProxyListener.NONE);
  private final RoutingEngine engine = engine();
  private final Worker worker = fleet.add(WorkerSpec.of("http://w:1"));

  private RoutingEngine engine() {
    ScriptedRandomSource random = ScriptedRandomSource.seeded(5);
    PolicyParts parts = new PolicyParts(clock::nanos, random::roll, 64, PolicySettings.DEFAULTS);
    return new RoutingEngine(
        fleet,
        Policies.create("cache_aware", parts).with(activity),
        new EngineSettings(UnknownModel.ANY_WORKER),
        this,
        clock::nanos,
        random::roll);
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }

  private Lease place() {
    worker.probed(true);
    long[] pieces = {1, 2, 3, 4};
    PrefixBlocks prefix = PrefixBlocks.chain(1, pieces, 4, 64, 16, 64);
    RoutingRequest request = RoutingRequest.builder().prefix(prefix).build();
    return ((Decision.Routed) engine.decide(request)).lease();
  }

  private static RequestEnded ended(
      @Nullable Worker worker, Blame blame, boolean streamed, long firstByte, Usage usage) {
    return new RequestEnded(
        new RequestReport(
            new ClientRequest(
                Endpoint.CHAT_COMPLETIONS,
                "POST",
                "/v1/chat/completions",
                "req-1",
                ClientIdentity.UNKNOWN,
                "10.1.2.3",
                false),
            null,
            worker,
            1,
            new ReportedResult(200, blame, null, streamed, false),
            new ReportedTimes(RequestReport.NEVER, firstByte, 0),
            new ReportedTraffic(0, 0, 7, usage)));
  }

  private void stream(long millis, Usage usage) {
    proxy.on(ended(worker, Blame.NONE, true, millis * MILLI, usage));
  }

  @Test
  void hitsAreThoseOfThePolicyAndOfTheEngine() {
    place().succeeded();
    Lease second = place();
    second.reported(new Usage(80, 20, 5));
    second.succeeded();
    place().ignored();

    Figures figures = activity.recent(worker);
    assertThat(figures.placed()).isEqualTo(3);
    // The first prompt of 64 tokens was new, the second one of 80 was expected in the cache.
    assertThat(figures.predictedHits()).isCloseTo(80 / 144.0, within(1e-9));
    assertThat(figures.reportedHits()).isEqualTo(0.25);
    assertThat(figures.tokens()).isEqualTo(5);
    assertThat(activity.recent().predictedHits()).isEqualTo(figures.predictedHits());
  }

  @Test
  void refusalsByLimitsGoOnToTheNextListener() {
    List<ClientLimit> limited = new ArrayList<>();
    ProxyListener metrics =
        event -> {
          if (event instanceof LimitReached reached) {
            limited.add(reached.limit());
          }
        };
    activity.around(metrics).on(new LimitReached(ClientIdentity.UNKNOWN, ClientLimit.CONCURRENCY));
    assertThat(limited).containsExactly(ClientLimit.CONCURRENCY);
  }

  @Test
  void streamsWithoutCountsHaveAboutOneTokenInEachEvent() {
    place();
    stream(100, Usage.UNKNOWN);
    stream(100, new Usage(10, 0, 9));

    assertThat(activity.recent(worker).tokens()).as("counts come with the lease").isEqualTo(7);
  }

  @Test
  void percentilesAreOfStreamsOnly() {
    place();
    for (int i = 1; i <= 98; i++) {
      stream(200, Usage.UNKNOWN);
    }
    stream(4000, Usage.UNKNOWN);
    stream(4000, Usage.UNKNOWN);
    proxy.on(ended(worker, Blame.NONE, false, 60_000 * MILLI, Usage.UNKNOWN));

    Figures figures = activity.recent(worker);
    assertThat(figures.firstTokenP50()).isCloseTo(200, within(25.0));
    assertThat(figures.firstTokenP99()).isCloseTo(4000, within(500.0));
    assertThat(activity.recent().ended()).isEqualTo(101);
  }

  @Test
  void errorsOfClientsDoNotCount() {
    proxy.on(ended(null, Blame.CLIENT, false, RequestReport.NEVER, Usage.UNKNOWN));
    proxy.on(ended(null, Blame.ROUTER, false, RequestReport.NEVER, Usage.UNKNOWN));
    proxy.on(ended(worker, Blame.UPSTREAM, false, RequestReport.NEVER, Usage.UNKNOWN));

    assertThat(activity.recent().ended()).isEqualTo(3);
    assertThat(activity.recent().errors()).isEqualTo(2);
  }

  @Test
  void figuresAreOfTheLastMinute() {
    place();
    stream(100, Usage.UNKNOWN);
    for (int i = 0; i < 5; i++) {
      clock.advance(FleetActivity.STEP);
      activity.sample();
    }
    assertThat(activity.recent(worker).placed()).isEqualTo(1);
    assertThat(activity.recent().seconds()).isEqualTo(50);
    clock.advance(FleetActivity.STEP);
    activity.sample();

    assertThat(activity.recent(worker).placed()).isZero();
    assertThat(activity.recent(worker).firstTokenP50()).isNaN();
    assertThat(activity.recent().seconds()).isEqualTo(50);
  }

  @Test
  void aPointHasTheFiguresOfItsStepAndTheHourIsBounded() {
    place();
    proxy.on(ended(worker, Blame.NONE, false, RequestReport.NEVER, Usage.UNKNOWN));
    clock.advance(FleetActivity.STEP);
    activity.sample();
    FleetActivity.Point first = activity.hour().getFirst();
    assertThat(first.inFlight()).isEqualTo(1);
    assertThat(first.figures().perSecond(first.figures().ended())).isEqualTo(0.1);
    for (int i = 0; i < 2 * FleetActivity.POINTS; i++) {
      clock.advance(FleetActivity.STEP);
      activity.sample();
    }

    assertThat(activity.hour()).hasSize(360).doesNotContain(first);
    assertThat(activity.hour().getLast().at()).isEqualTo(clock.nanos());
    assertThat(activity.hour().getLast().figures().ended()).isZero();
  }

  @Test
  void aWorkerInAReusedSlotBeginsAnew() {
    place().succeeded();
    fleet.remove(worker.id());
    Worker next = fleet.add(WorkerSpec.of("http://next:1"));
    next.probed(true);
    RoutingRequest request = RoutingRequest.builder().build();
    ((Decision.Routed) engine.decide(request)).lease();

    assertThat(activity.recent(next).placed()).isEqualTo(1);
  }

  @Test
  void previewsDoNotCount() {
    worker.probed(true);
    RoutingRequest request = RoutingRequest.builder().build();
    engine.explain(request);
    ((Decision.Routed) engine.decide(request)).lease().ignored();

    assertThat(activity.recent().placed()).isZero();
  }

  @Test
  void everyTimeIsInABucketNearIt() {
    for (long millis = 1; millis < 1_000_000; millis = millis * 5 / 4 + 1) {
      TimeCounts counts = new TimeCounts();
      int[] before = counts.read();
      counts.add(Duration.ofMillis(millis).toNanos());
      assertThat(TimeCounts.percentile(before, counts.read(), 0.99) / millis).isBetween(0.88, 1.13);
    }
    TimeCounts counts = new TimeCounts();
    counts.add(-1);
    counts.add(Long.MAX_VALUE);
    assertThat(counts.read()[0]).isEqualTo(1);
    assertThat(counts.read()[99]).isEqualTo(1);
  }
}
