package io.pointsman.engine.policy.session;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision.Routed;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.Requests;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** {@code sticky_least_loaded} and its session table, tested through the engine. */
class SessionTableTest {
  private static final Duration TTL = Duration.ofHours(2);

  private final TestFleet fleet = TestFleet.of(4);
  private SessionTable table = new SessionTable(100, TTL, fleet.clock::nanos);
  private RoutingEngine engine = engine();
  private volatile PickReason lastReason = PickReason.FALLBACK;

  private RoutingEngine engine() {
    EngineListener listener =
        new EngineListener() {
          @Override
          public void routed(RoutingRequest request, LeaseView lease) {
            lastReason = request.result().reason();
          }

          @Override
          public void policyFailed(RuntimeException failure) {
            throw new AssertionError(failure);
          }
        };
    Policy policy = new StickyLeastLoadedPolicy(table, fleet.random);
    return new RoutingEngine(
        fleet.fleet,
        new PolicySetup(policy, List.of(table), table),
        EngineSettings.DEFAULTS,
        listener,
        fleet.clock::nanos,
        fleet.random);
  }

  private void atMost(int sessions) {
    table = new SessionTable(sessions, TTL, fleet.clock::nanos);
    engine = engine();
  }

  private Lease place(RoutingRequest request) {
    if (engine.decide(request) instanceof Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError("rejected");
  }

  /** The worker that serves a request, which ends at once. */
  private Worker serve(RoutingRequest request) {
    Lease lease = place(request);
    lease.succeeded();
    return lease.worker();
  }

  private Worker serve(String session) {
    return serve(Requests.session(session));
  }

  @Test
  void sessionStaysWithItsWorkerAtAnyLoad() {
    Worker worker = serve("s");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    fleet.load(worker, 500);

    for (int i = 0; i < 50; i++) {
      assertThat(serve("s")).isSameAs(worker);
    }
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
    assertThat(table.size()).isEqualTo(1);
  }

  @Test
  void newSessionGoesToTheWorkerWithTheFewestSessionsThenTheFewestRequests() {
    Map<Worker, Integer> sessions = new HashMap<>();
    for (int i = 0; i < 40; i++) {
      sessions.merge(serve("s" + i), 1, Integer::sum);
    }
    assertThat(sessions.values()).containsOnly(10);

    for (int i = 0; i < 4; i++) {
      if (i != 2) {
        fleet.load(fleet.worker(i), 1);
      }
    }
    assertThat(serve("next")).isSameAs(fleet.worker(2));
    fleet.load(fleet.worker(3), 2);
    assertThat(serve("one more")).isNotIn(fleet.worker(2), fleet.worker(3));
  }

  @Test
  void requestsWithoutASessionGoToTheLeastLoadedAndAreNotStored() {
    for (int i = 0; i < 3; i++) {
      fleet.load(fleet.worker(i), 1);
    }
    assertThat(serve(Requests.bare())).isSameAs(fleet.worker(3));
    assertThat(serve(Requests.prompt(1))).isSameAs(fleet.worker(3));
    assertThat(serve(Requests.id("r1"))).isSameAs(fleet.worker(3));

    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);
    assertThat(table.size()).isZero();
  }

  @Test
  void overlongIdentityIsNotStored() {
    serve("x".repeat(RoutingRequest.LONGEST_KEPT + 1));
    assertThat(table.size()).isZero();

    serve("x".repeat(RoutingRequest.LONGEST_KEPT));
    assertThat(table.size()).isEqualTo(1);
  }

  @Test
  void sessionWithAnOverlongModelIsNotStored() {
    String longest = "m".repeat(RoutingRequest.LONGEST_KEPT);
    fleet.add(TestFleet.spec("other", longest, longest + "m"));
    serve(ofModel("s", longest + "m"));
    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);
    assertThat(table.size()).isZero();

    serve(ofModel("s", longest));
    assertThat(table.size()).isEqualTo(1);
  }

  private static RoutingRequest ofModel(String session, String model) {
    return Requests.session(session, "header:x-session-id", model);
  }

  private @Nullable Worker bind(RoutingRequest request) {
    Set<Worker> members = Set.copyOf(fleet.pool().workers());
    return table.bind(request, table.home(fleet.worker(0)), members, fleet.now());
  }

  @Test
  void sessionsWithOneIdMakeRoomForEachOther() {
    atMost(1000);
    bind(ofModel("other", "m0"));
    for (int i = 0; i < SessionTable.MOST_OF_ONE_VALUE + 10; i++) {
      fleet.clock.advance(Duration.ofMillis(1));
      bind(ofModel("s", "m" + i));
    }

    assertThat(table.size()).isEqualTo(SessionTable.MOST_OF_ONE_VALUE + 1);
    assertThat(table.boundWorker(ofModel("s", "m9"), fleet.now())).isNull();
    assertThat(table.boundWorker(ofModel("s", "m10"), fleet.now())).isNotNull();
    assertThat(table.boundWorker(ofModel("other", "m0"), fleet.now())).isNotNull();
  }

  @Test
  void sessionInUseMakesNoRoomForAnotherWithItsId() {
    atMost(1000);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < SessionTable.MOST_OF_ONE_VALUE; i++) {
      RoutingRequest request = ofModel("s", "m" + i);
      bind(request);
      leases.add(fleet.lease(fleet.worker(0)));
      table.placed(request, leases.getLast());
    }
    assertThat(bind(ofModel("s", "next"))).isNull();
    assertThat(bind(ofModel("other", "next"))).isNotNull();

    table.ended(ofModel("s", "m5"), leases.get(5), Outcome.IGNORED);
    assertThat(bind(ofModel("s", "next"))).isNotNull();
    assertThat(table.boundWorker(ofModel("s", "m5"), fleet.now())).isNull();
  }

  @Test
  void sessionMovesPermanentlyWhenItsWorkerIsIneligible() {
    Worker first = serve("s");
    first.drain(true);
    Worker second = serve("s");
    assertThat(second).isNotSameAs(first);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    first.drain(false);

    assertThat(serve("s")).isSameAs(second);
    assertThat(table.sessions(first)).isZero();
    assertThat(table.sessions(second)).isEqualTo(1);
  }

  @Test
  void retryElsewhereDoesNotMoveTheSession() {
    Worker home = serve("s");
    RoutingRequest retry = Requests.session("s");
    retry.exclude(home);
    assertThat(serve(retry)).isNotSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);

    assertThat(serve("s")).isSameAs(home);
  }

  @Test
  void sessionAgesFromTheEndOfItsLastRequest() {
    Lease lease = place(Requests.session("s"));
    fleet.clock.advance(TTL.multipliedBy(2));
    serve("other");
    assertThat(table.size()).isEqualTo(2);

    lease.succeeded();
    fleet.clock.advance(TTL);
    assertThat(serve("s")).isSameAs(lease.worker());
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);

    fleet.clock.advance(TTL.plusNanos(1));
    serve("s");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    assertThat(table.size()).isEqualTo(1);
  }

  @Test
  void lastOfSeveralRequestsCounts() {
    Lease first = place(Requests.session("s"));
    Lease second = place(Requests.session("s"));
    first.succeeded();
    fleet.clock.advance(TTL.multipliedBy(2));
    second.failed(Failure.ERROR);
    fleet.clock.advance(TTL);

    assertThat(serve("s")).isSameAs(first.worker());
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
  }

  @Test
  void expiredSessionsNoLongerCountForTheirWorkers() {
    for (int i = 0; i < 8; i++) {
      serve("s" + i);
    }
    fleet.clock.advance(TTL.plusNanos(1));
    serve("new");

    assertThat(table.size()).isEqualTo(1);
    int sessions = 0;
    for (Worker worker : fleet.pool().workers()) {
      sessions += table.sessions(worker);
    }
    assertThat(sessions).isEqualTo(1);
  }

  @Test
  void finishEndsTheSessionForEverySourceOfItsId() {
    serve(Requests.session("s", "header:x-session-id", TestFleet.MODEL));
    serve(Requests.session("s", "body:user", TestFleet.MODEL));
    serve(Requests.session("other", "body:user", TestFleet.MODEL));
    assertThat(table.size()).isEqualTo(3);

    assertThat(table.finish("s")).isTrue();
    assertThat(table.size()).isEqualTo(1);
    assertThat(table.finish("s")).isFalse();
    assertThat(table.finish("unknown")).isFalse();
    serve("s");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
  }

  @Test
  void requestsOfAFinishedSessionDoNotAffectItsSuccessor() {
    Lease old = place(Requests.session("s"));
    table.finish("s");
    Lease young = place(Requests.session("s"));
    old.succeeded();
    fleet.clock.advance(TTL.multipliedBy(2));
    serve("other");
    assertThat(table.size()).isEqualTo(2);

    young.succeeded();
    assertThat(serve("s")).isSameAs(young.worker());
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
  }

  @Test
  void fullTableRemovesTheSessionIdleForLongest() {
    atMost(3);
    serve("a");
    serve("b");
    serve("c");
    serve("a");
    serve("d");

    assertThat(table.size()).isEqualTo(3);
    serve("a");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
    serve("c");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
    serve("b");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
  }

  @Test
  void fullTableOfSessionsInUseStoresNoNewOne() {
    atMost(2);
    Lease a = place(Requests.session("a"));
    Lease b = place(Requests.session("b"));
    Lease c = place(Requests.session("c"));
    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);
    assertThat(table.size()).isEqualTo(2);

    c.succeeded();
    a.succeeded();
    serve("c");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    b.succeeded();
    assertThat(table.size()).isEqualTo(2);
  }

  @Test
  void modelsHaveSeparateSessions() {
    Worker other = fleet.add(TestFleet.spec("other", "second"));
    Worker home = serve("s");
    assertThat(serve(Requests.session("s", "header:x-session-id", "second"))).isSameAs(other);

    assertThat(serve("s")).isSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
    assertThat(table.finish("s")).isTrue();
    assertThat(table.size()).isZero();
  }

  @Test
  void workerThatNoLongerServesTheModelLosesItsSessions() {
    Worker home = serve("s");
    fleet.fleet.learnModels(home, Set.of("second"));

    assertThat(serve("s")).isNotSameAs(home);
  }

  @Test
  void departingWorkersSessionsAreRemoved() {
    Set<Worker> gone = new HashSet<>();
    for (int i = 0; i < 8; i++) {
      serve("s" + i);
    }
    Lease running = place(Requests.session("s0"));
    for (String id : List.of("w0", "w1", "w2")) {
      gone.add(requireNonNull(fleet.fleet.remove(id), id));
    }
    assertThat(table.size()).isEqualTo(2);
    assertThat(gone).allMatch(worker -> table.sessions(worker) == 0);

    running.succeeded();
    for (int i = 0; i < 8; i++) {
      assertThat(serve("s" + i)).isSameAs(fleet.worker(0));
    }
    assertThat(table.sessions(fleet.worker(0))).isEqualTo(8);
  }

  @Test
  void latePickerDoesNotRestoreADepartedWorker() {
    Worker present = fleet.worker(1);
    Worker gone = requireNonNull(fleet.fleet.remove("w0"), "w0");

    assertThat(table.home(present)).isSameAs(table.home(present));
    assertThat(table.home(gone)).isNotSameAs(table.home(gone));
  }

  @Test
  void concurrentBindsOfASessionReturnTheFirstsWorker() {
    Set<Worker> members = Set.copyOf(fleet.pool().workers());
    Worker first = fleet.worker(0);
    Worker second = fleet.worker(1);
    RoutingRequest request = Requests.session("s");
    assertThat(table.bind(request, table.home(first), members, fleet.now())).isSameAs(first);
    assertThat(table.bind(request, table.home(second), members, fleet.now())).isSameAs(first);

    first.drain(true);
    assertThat(table.bind(request, table.home(second), members, fleet.now())).isSameAs(second);
    assertThat(table.sessions(first)).isZero();
    assertThat(table.sessions(second)).isEqualTo(1);
  }

  @Test
  void threadsThatOpenASessionConcurrentlyAgreeOnItsWorker() throws Exception {
    atMost(20);
    Map<String, Set<Worker>> served = new HashMap<>();
    int threads = 4;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<Map<String, Set<Worker>>>> results = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        results.add(pool.submit(() -> sessionsOf(12)));
      }
      for (Future<Map<String, Set<Worker>>> result : results) {
        result
            .get(60, TimeUnit.SECONDS)
            .forEach((s, w) -> served.computeIfAbsent(s, _ -> new HashSet<>()).addAll(w));
      }
    }

    assertThat(served).hasSize(12).allSatisfy((_, workers) -> assertThat(workers).hasSize(1));
    assertThat(table.size()).isEqualTo(12);
  }

  private Map<String, Set<Worker>> sessionsOf(int sessions) {
    SplittableRandom random = new SplittableRandom(5);
    Map<String, Set<Worker>> served = new HashMap<>();
    for (int i = 0; i < 1000; i++) {
      String session = "s" + random.nextInt(sessions);
      served.computeIfAbsent(session, _ -> new HashSet<>()).add(serve(session));
    }
    return served;
  }

  @Test
  void tableStaysWithinItsBoundUnderConcurrentLoad() throws Exception {
    atMost(10);
    int threads = 4;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> done = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        SplittableRandom random = new SplittableRandom(t);
        done.add(pool.submit(() -> churn(random)));
      }
      for (Future<?> future : done) {
        future.get(60, TimeUnit.SECONDS);
      }
    }
    int sessions = 0;
    for (Worker worker : fleet.pool().workers()) {
      assertThat(worker.inFlight()).isZero();
      sessions += table.sessions(worker);
    }
    assertThat(sessions).isEqualTo(table.size()).isLessThanOrEqualTo(10);
  }

  private void churn(SplittableRandom random) {
    for (int i = 0; i < 3000; i++) {
      String session = "s" + random.nextInt(40);
      serve(session);
      if (random.nextInt(20) == 0) {
        table.finish(session);
      }
      assertThat(table.size()).isLessThanOrEqualTo(10);
    }
  }
}
