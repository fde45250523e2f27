package io.pointsman.engine;

import static io.pointsman.engine.TestFleet.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.pointsman.engine.Decision.Rejected;
import io.pointsman.engine.Decision.Routed;
import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

class RoutingEngineTest {
  private static final String SECOND = "second";

  private final TestFleet fleet = TestFleet.of(3);
  private final RecordedEvents events = new RecordedEvents();

  private RoutingEngine engine(Policy policy, Learner... learners) {
    return engine(policy, EngineSettings.DEFAULTS, learners);
  }

  private RoutingEngine engine(Policy policy, EngineSettings settings, Learner... learners) {
    return new RoutingEngine(
        fleet.fleet,
        new PolicySetup(policy, List.of(learners)),
        settings,
        events,
        fleet.clock::nanos,
        fleet.random);
  }

  private RoutingEngine leastLoad() {
    PolicyParts parts =
        new PolicyParts(fleet.clock::nanos, fleet.random, 64, PolicySettings.DEFAULTS);
    return engine(Policies.create("least_load", parts).policy());
  }

  private static Lease routed(Decision decision) {
    assertThat(decision).isInstanceOf(Routed.class);
    return ((Routed) decision).lease();
  }

  private static void assertRejected(Decision decision, RejectReason reason) {
    assertThat(decision).asInstanceOf(type(Rejected.class)).returns(reason, Rejected::reason);
  }

  /** Puts all workers into rest. */
  private void restAll(Duration... rests) {
    for (int i = 0; i < rests.length; i++) {
      fleet.worker(i).rest(rests[i].toNanos());
    }
  }

  @Test
  void listenerThatThrowsLeavesNothingInFlight() {
    events.defect = new IllegalStateException("a defect");

    assertThatThrownBy(() -> leastLoad().decide(Requests.bare())).isSameAs(events.defect);
    assertThat(fleet.fleet.snapshot().workers()).allMatch(worker -> worker.inFlight() == 0);
    assertThat(events.settled).containsExactly(Outcome.IGNORED);
  }

  @Test
  void requestIsPlacedAndCountedAsLoad() {
    Lease lease = routed(leastLoad().decide(Requests.bare()));
    assertThat(lease.worker().inFlight()).isEqualTo(1);
    assertThat(events.routed).containsExactly(PickReason.LEAST_LOAD);

    lease.succeeded();
    assertThat(lease.worker().inFlight()).isZero();
    assertThat(events.settled).containsExactly(Outcome.SUCCEEDED);
  }

  @Test
  void policyThatThrowsIsReportedAndItsRequestGoesToTheLeastLoaded() {
    RuntimeException fault = new IllegalStateException("fault of the policy");
    fleet.load(fleet.worker(0), 1);
    fleet.load(fleet.worker(2), 1);
    RoutingEngine engine =
        engine(
            _ ->
                (_, _) -> {
                  throw fault;
                });

    assertThat(routed(engine.decide(Requests.bare())).worker()).isSameAs(fleet.worker(1));
    assertThat(events.failures).containsExactly(fault);
    assertThat(events.routed).containsExactly(PickReason.FALLBACK);
  }

  @Test
  void failedPickerIsBuiltAgainWhenTheFleetChanges() {
    AtomicBoolean broken = new AtomicBoolean(true);
    Policy policy =
        pool -> {
          if (broken.get()) {
            throw new IllegalStateException("fault of the policy");
          }
          return (request, _) -> {
            request.picked(PickResult.of(PickReason.TURN));
            return pool.worker(0);
          };
        };
    RoutingEngine engine = engine(policy);
    RoutingRequest request = RoutingRequest.builder().model(TestFleet.MODEL).build();
    routed(engine.decide(request));
    assertThat(events.routed).containsExactly(PickReason.FALLBACK);

    broken.set(false);
    fleet.add(spec("further", "of-another-model"));
    routed(engine.decide(RoutingRequest.builder().model(TestFleet.MODEL).build()));

    assertThat(events.routed).endsWith(PickReason.TURN);
  }

  @Test
  void incompatiblePlugInIsReportedAndFailsNoRequest() {
    LinkageError fault = new NoSuchMethodError("of another version");
    Learner learner =
        new Learner() {
          @Override
          public void placed(RoutingRequest request, LeaseView lease) {
            throw fault;
          }

          @Override
          public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
            throw fault;
          }

          @Override
          public void forget(Worker worker) {
            throw fault;
          }
        };
    RoutingEngine engine =
        engine(
            _ ->
                (_, _) -> {
                  throw fault;
                },
            learner);

    Lease lease = routed(engine.decide(Requests.bare()));
    assertThat(events.failures).as("pick, placed").hasSize(2);
    lease.succeeded();
    fleet.fleet.remove(lease.worker().id());

    assertThat(events.failures)
        .as("pick, placed, ended, forget")
        .hasSize(4)
        .allSatisfy(failure -> assertThat(failure).hasCause(fault));
    assertThat(events.settled).containsExactly(Outcome.SUCCEEDED);
  }

  @Test
  void policyThatCannotBuildAPickerIsReportedAndRequestsGoToTheLeastLoaded() {
    Policy policy =
        _ -> {
          throw new IllegalStateException("no picker");
        };
    RoutingEngine engine = engine(policy);
    fleet.add(spec("late", TestFleet.MODEL));

    assertThat(events.failures).isNotEmpty();
    routed(engine.decide(Requests.bare()));
    assertThat(events.routed).containsExactly(PickReason.FALLBACK);
  }

  @Test
  void ineligibleTriedAndMissingChoicesAreReplacedByTheLeastLoaded() {
    fleet.kill(fleet.worker(0));
    Picker dead = (_, _) -> fleet.worker(0);
    assertThat(routed(engine(_ -> dead).decide(Requests.bare())).worker())
        .isNotSameAs(fleet.worker(0));

    Picker stubborn = (_, _) -> fleet.worker(1);
    RoutingRequest retry = Requests.bare();
    retry.exclude(fleet.worker(1));
    assertThat(routed(engine(_ -> stubborn).decide(retry)).worker()).isSameAs(fleet.worker(2));

    assertThat(routed(engine(_ -> (_, _) -> null).decide(Requests.bare())).worker()).isNotNull();
    assertThat(events.routed)
        .containsExactly(PickReason.FALLBACK, PickReason.FALLBACK, PickReason.FALLBACK);
    assertThat(fleet.worker(0).inFlight()).isZero();
  }

  @Test
  void learnerThatThrowsIsReportedAndLeaksNothing() {
    Learner broken =
        new Learner() {
          @Override
          public void placed(RoutingRequest request, LeaseView lease) {
            throw new IllegalStateException("placed");
          }

          @Override
          public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
            throw new IllegalStateException("ended");
          }

          @Override
          public void forget(Worker worker) {
            throw new IllegalStateException("forget");
          }
        };
    RoutingEngine engine = engine(_ -> (_, _) -> fleet.worker(0), broken);
    Lease lease = routed(engine.decide(Requests.bare()));
    lease.succeeded();
    fleet.fleet.remove("w2");

    assertThat(lease.worker().inFlight()).isZero();
    assertThat(events.settled).hasSize(1);
    assertThat(events.failures)
        .extracting(Throwable::getMessage)
        .containsExactly("placed", "ended", "forget");
  }

  @Test
  void unknownModelIsRefusedOrPlacedAnywhere() {
    RoutingRequest request = RoutingRequest.builder().model("nobody's").build();
    assertRejected(leastLoad().decide(request), RejectReason.UNKNOWN_MODEL);

    RoutingEngine lenient =
        engine(pool -> (_, _) -> pool.worker(0), new EngineSettings(UnknownModel.ANY_WORKER));
    routed(lenient.decide(request));
  }

  @Test
  void aModelThatWasDiscoveredMayComeUntilItIsNot() {
    RoutingEngine engine = leastLoad();
    RoutingRequest request = RoutingRequest.builder().model("scaled").build();
    RoutingRequest adapter = RoutingRequest.builder().model("scaled:lora").build();
    engine.expect(Set.of("scaled"));
    assertRejected(engine.decide(request), RejectReason.NONE_AVAILABLE);
    assertRejected(engine.decide(adapter), RejectReason.NONE_AVAILABLE);
    engine.expect(Set.of());
    assertRejected(engine.decide(request), RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void eachModelHasItsOwnWorkersAndNoModelMeansAny() {
    Worker other = fleet.add(spec("other", SECOND));
    RoutingEngine engine = leastLoad();
    RoutingRequest second = RoutingRequest.builder().model(SECOND).build();

    assertThat(routed(engine.decide(second)).worker()).isSameAs(other);
    Set<Worker> any = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      any.add(routed(engine.decide(RoutingRequest.builder().build())).worker());
    }
    assertThat(any).containsExactlyInAnyOrder(fleet.worker(0), fleet.worker(1), fleet.worker(2));
  }

  private static RoutingRequest earlier() {
    RoutingRequest request = Requests.bare();
    request.acceptEarlierRoles();
    return request;
  }

  /** Engines that never had the role for whole requests may not be able to serve one. */
  @Test
  void aRequestThatBeganEarlierFindsOnlyEnginesThatHadItsRole() {
    RoutingEngine engine = leastLoad();
    List<Worker> before = fleet.fleet.snapshot().workers();
    Worker first = before.getFirst();
    fleet.fleet.replace(before, List.of(first.spec().withRole(Role.PREFILL).withMaxInFlight(1)));
    fleet.add(spec("never", TestFleet.MODEL).withRole(Role.DECODE));
    assertRejected(engine.decide(Requests.bare()), RejectReason.NO_WORKERS);

    Lease lease = routed(engine.decide(earlier()));
    assertThat(lease.worker().id()).isEqualTo(first.id());
    assertRejected(engine.decide(earlier()), RejectReason.ALL_BUSY);

    engine.anyServesWhole(true);
    assertThat(routed(engine.decide(earlier())).worker().id()).isEqualTo("never");
    lease.succeeded();
  }

  @Test
  void emptyFleetHasNoWorkers() {
    for (String id : List.of("w0", "w1", "w2")) {
      fleet.fleet.remove(id);
    }
    RoutingEngine engine = leastLoad();

    assertRejected(engine.decide(Requests.bare()), RejectReason.NO_WORKERS);
    assertRejected(engine.decide(RoutingRequest.builder().build()), RejectReason.NO_WORKERS);
    assertThat(events.rejected).hasSize(2);
  }

  @Test
  void retryGoesToUntriedWorkersUntilNoneIsLeft() {
    RoutingEngine engine = leastLoad();
    RoutingRequest request = Requests.bare();
    Set<Worker> tried = new HashSet<>();
    for (int attempt = 0; attempt < 3; attempt++) {
      Lease lease = routed(engine.decide(request));
      assertThat(tried.add(lease.worker())).isTrue();
      lease.failed(Failure.ERROR);
      request.exclude(lease.worker());
    }

    assertRejected(engine.decide(request), RejectReason.ALL_TRIED);
  }

  @Test
  void whenAllAreBusyTheShortestRestIsReported() {
    restAll(Duration.ofSeconds(3), Duration.ofSeconds(1), Duration.ofSeconds(2));

    assertThat(leastLoad().decide(Requests.bare()))
        .isEqualTo(new Rejected(RejectReason.ALL_BUSY, 1_000_000_000));
  }

  @Test
  void busyStatusIsReportedUnlessALimitApplies() {
    fleet.worker(0).rest(3_000, 503);
    fleet.worker(1).rest(1_000, 429);
    fleet.worker(2).rest(2_000, 503);
    assertThat(leastLoad().decide(Requests.bare()))
        .isEqualTo(new Rejected(RejectReason.ALL_BUSY, 1_000, 429));

    fleet.add(spec("limited", SECOND).withMaxInFlight(1));
    fleet.add(spec("unlimited", SECOND)).rest(1_000_000, 429);
    RoutingEngine engine = leastLoad();
    RoutingRequest request = RoutingRequest.builder().model(SECOND).build();
    Lease only = routed(engine.decide(request));
    assertThat(engine.decide(request)).isEqualTo(new Rejected(RejectReason.ALL_BUSY, 1_000_000, 0));
    only.ignored();
  }

  @Test
  void workersBusyForThisRequestCountAsBusyNotTried() {
    RoutingEngine engine = leastLoad();
    RoutingRequest request = Requests.bare();
    for (int attempt = 0; attempt < 3; attempt++) {
      Lease lease = routed(engine.decide(request));
      lease.worker().rest(Duration.ofSeconds(5 - attempt).toNanos());
      lease.ignored();
      request.exclude(lease.worker());
    }

    assertThat(engine.decide(request))
        .isEqualTo(new Rejected(RejectReason.ALL_BUSY, 3_000_000_000L));
  }

  @Test
  void untriedBusyWorkerMakesTheRejectionBusy() {
    RoutingRequest request = Requests.bare();
    request.exclude(fleet.worker(0));
    request.exclude(fleet.worker(1));
    fleet.worker(2).rest(1_000);

    assertThat(leastLoad().decide(request)).isEqualTo(new Rejected(RejectReason.ALL_BUSY, 1_000));
  }

  @Test
  void fullWorkersAreBusyWithoutARetryTime() {
    fleet.add(spec("limited", SECOND).withMaxInFlight(1));
    RoutingEngine engine = leastLoad();
    RoutingRequest request = RoutingRequest.builder().model(SECOND).build();
    Lease only = routed(engine.decide(request));
    assertThat(engine.decide(request)).isEqualTo(new Rejected(RejectReason.ALL_BUSY, 0));

    only.succeeded();
    routed(engine.decide(request)).succeeded();
  }

  @Test
  void ineligibleWorkersAreNotBusy() {
    fleet.kill(fleet.worker(0));
    fleet.worker(1).drain(true);
    fleet.worker(2).rest(1_000_000);
    fleet.worker(2).drain(true);

    assertThat(leastLoad().decide(Requests.bare()))
        .isEqualTo(new Rejected(RejectReason.NONE_AVAILABLE, 0));
  }

  /** The request comes after the first drain of the replacement, before workers have left. */
  @Test
  void aRequestThatFindsOnlyDrainingWorkersWaitsForTheirReplacement() throws Exception {
    RoutingEngine engine = leastLoad();
    FutureTask<Decision> asked = new FutureTask<>(() -> engine.decide(Requests.bare()));
    Thread asking = new Thread(asked);
    List<Worker> before = fleet.fleet.snapshot().workers();
    List<WorkerSpec> specs = before.stream().map(Worker::spec).toList();
    List<WorkerSpec> coming =
        new AbstractList<>() {
          @Override
          public WorkerSpec get(int index) {
            return specs.get(index);
          }

          // The fleet asks for it after it has drained the earlier workers.
          @Override
          public int size() {
            if (before.getFirst().draining() && asking.getState() == Thread.State.NEW) {
              asking.start();
              while (asking.getState() != Thread.State.BLOCKED && asking.isAlive()) {
                LockSupport.parkNanos(20_000);
              }
            }
            return specs.size();
          }
        };
    fleet.fleet.replace(before, coming);

    assertThat(asking.getState()).isNotEqualTo(Thread.State.NEW);
    Lease lease = routed(asked.get(60, TimeUnit.SECONDS));
    assertThat(before).doesNotContain(lease.worker());
    lease.succeeded();
  }

  @Test
  void aBusyEngineOfAnEarlierRoleIsNeverReportedAsMissing() {
    RoutingEngine engine = leastLoad();
    List<Worker> before = fleet.fleet.snapshot().workers();
    WorkerSpec other = before.getFirst().spec().withRole(Role.PREFILL).withMaxInFlight(1);
    fleet.fleet.replace(before, List.of(other));
    Set<RejectReason> reasons = EnumSet.noneOf(RejectReason.class);
    Thread serves =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < 4_000; i++) {
                    if (engine.decide(earlier()) instanceof Routed(Lease lease)) {
                      LockSupport.parkNanos(20_000);
                      lease.ignored();
                    }
                  }
                });
    while (serves.isAlive()) {
      switch (engine.decide(earlier())) {
        case Routed(Lease lease) -> lease.ignored();
        case Rejected rejected -> reasons.add(rejected.reason());
      }
    }
    assertThat(reasons).doesNotContain(RejectReason.NO_WORKERS);
  }

  @Test
  void aWorkerThatBecomesEligibleAfterThePickIsNeverReportedAsBusy() {
    fleet.worker(1).drain(true);
    fleet.worker(2).drain(true);
    RoutingEngine engine = leastLoad();
    Set<RejectReason> reasons = EnumSet.noneOf(RejectReason.class);
    Thread changes =
        Thread.ofPlatform()
            .start(
                () -> {
                  for (int i = 0; i < 4_000; i++) {
                    // Between two changes a decision has time to end.
                    LockSupport.parkNanos(20_000);
                    fleet.worker(0).drain(i % 2 == 0);
                  }
                });
    while (changes.isAlive()) {
      switch (engine.decide(Requests.bare())) {
        case Routed(Lease lease) -> lease.ignored();
        case Rejected rejected -> reasons.add(rejected.reason());
      }
    }

    assertThat(reasons).isSubsetOf(RejectReason.NONE_AVAILABLE);
  }

  @Test
  void stalledWorkersServeWhenNothingElseIsLeft() {
    RoutingEngine engine = leastLoad();
    routed(engine.decide(Requests.bare()));
    Lease onTheSecond = routed(engine.decide(Requests.bare()));
    fleet.clock.advance(Duration.ofSeconds(21));
    fleet.fleet.checkStalls();
    assertThat(fleet.fleet.snapshot().workers()).filteredOn(Worker::stalled).hasSize(2);

    Worker last = routed(engine.decide(Requests.bare())).worker();
    assertThat(last.inFlight()).isEqualTo(1);
    fleet.kill(last);
    assertThat(routed(engine.decide(Requests.bare())).worker()).isNotSameAs(last);
    assertThat(onTheSecond.settled()).isFalse();
  }

  @Test
  void pinnedRequestGoesToItsWorkerOnly() {
    fleet.load(fleet.worker(2), 5);
    RoutingEngine engine = leastLoad();
    assertThat(routed(engine.decide(Requests.pinned("w2"))).worker()).isSameAs(fleet.worker(2));
    assertThat(events.routed).containsExactly(PickReason.PINNED);

    assertRejected(engine.decide(Requests.pinned("gone")), RejectReason.NO_WORKERS);
    RoutingRequest retry = Requests.pinned("w2");
    retry.exclude(fleet.worker(2));
    assertRejected(engine.decide(retry), RejectReason.ALL_TRIED);
    fleet.kill(fleet.worker(2));
    assertRejected(engine.decide(Requests.pinned("w2")), RejectReason.NONE_AVAILABLE);
  }

  @Test
  void pinnedWorkerOfAnotherModelIsNotUsed() {
    fleet.add(spec("other", SECOND));

    assertRejected(leastLoad().decide(Requests.pinned("other")), RejectReason.NO_WORKERS);
  }

  @Test
  void halfOpenBreakerAdmitsOneRequest() {
    Worker sick = fleet.add(spec("sick", SECOND));
    RoutingEngine engine = leastLoad();
    RoutingRequest request = RoutingRequest.builder().model(SECOND).build();
    for (int i = 0; i < 10; i++) {
      routed(engine.decide(request)).failed(Failure.ERROR);
    }
    assertRejected(engine.decide(request), RejectReason.NONE_AVAILABLE);

    fleet.clock.advance(Duration.ofSeconds(60));
    Lease probe = routed(engine.decide(request));
    assertRejected(engine.decide(request), RejectReason.NONE_AVAILABLE);
    assertThat(sick.inFlight()).isEqualTo(1);

    probe.succeeded();
    routed(engine.decide(request)).succeeded();
    routed(engine.decide(request)).succeeded();
    assertThat(sick.breaker().state()).isEqualTo(CircuitBreaker.State.CLOSED);
  }

  @Test
  void learnersReceivePlacementsEndingsAndDeparturesOnce() {
    RecordingLearner recorded = new RecordingLearner();
    RoutingEngine engine = engine(_ -> (_, _) -> fleet.worker(0), recorded);
    RoutingRequest request = Requests.bare();
    routed(engine.decide(request)).failed(Failure.TIMEOUT);
    fleet.fleet.remove("w1");
    fleet.fleet.remove("w2");

    assertThat(recorded.news).containsExactly("placed w0", "ended w0", "forget w1", "forget w2");
  }

  @Test
  void placementOnAWorkerThatLeavesMeanwhileIsForgottenAfterwards() {
    RecordingLearner recorded = new RecordingLearner();
    Learner remover =
        new RecordingLearner() {
          @Override
          public void placed(RoutingRequest request, LeaseView lease) {
            fleet.fleet.remove(lease.worker().id());
          }
        };
    RoutingEngine engine = engine(_ -> (_, _) -> fleet.worker(0), remover, recorded);
    routed(engine.decide(Requests.bare())).ignored();

    assertThat(recorded.news).containsExactly("forget w0", "placed w0", "forget w0", "ended w0");
  }

  @Test
  void pickersOfUnchangedPoolsAreKept() {
    List<Pool> built = new ArrayList<>();
    Policy policy =
        pool -> {
          built.add(pool);
          return (_, _) -> null;
        };
    fleet.add(spec("other", SECOND));
    RoutingEngine engine = engine(policy);
    built.clear();
    fleet.add(spec("third", SECOND));

    assertThat(engine.fleet()).isSameAs(fleet.fleet);
    assertThat(built).extracting(Pool::size).containsExactlyInAnyOrder(5, 2);
  }

  private static class RecordingLearner implements Learner {
    final List<String> news = new ArrayList<>();

    @Override
    public void placed(RoutingRequest request, LeaseView lease) {
      news.add("placed " + lease.worker());
    }

    @Override
    public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
      news.add("ended " + lease.worker());
    }

    @Override
    public void forget(Worker worker) {
      news.add("forget " + worker);
    }
  }

  @Test
  void explainedRequestIsNotPlaced() {
    RoutingEngine engine = leastLoad();
    RoutingRequest pinned = Requests.pinned("w1");
    assertThat(engine.explain(pinned)).isEqualTo(new Preview.Chosen(fleet.worker(1)));
    assertThat(pinned.result().reason()).isEqualTo(PickReason.PINNED);
    fleet.kill(fleet.worker(1));
    assertThat(engine.explain(Requests.pinned("w1"))).isInstanceOf(Preview.Refused.class);
    assertThat(engine.explain(RoutingRequest.builder().model("unknown").build()))
        .isInstanceOfSatisfying(
            Preview.Refused.class,
            refused ->
                assertThat(refused.rejection().reason()).isEqualTo(RejectReason.UNKNOWN_MODEL));
    fleet.load(fleet.worker(0), 1);
    assertThat(engine.explain(Requests.bare())).isEqualTo(new Preview.Chosen(fleet.worker(2)));

    assertThat(fleet.worker(2).inFlight()).isZero();
    assertThat(events.routed).isEmpty();
    assertThat(events.rejected).isEmpty();
  }
}
