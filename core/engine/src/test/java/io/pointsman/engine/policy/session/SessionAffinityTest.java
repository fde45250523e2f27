package io.pointsman.engine.policy.session;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pointsman.engine.Decision.Routed;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.Preview;
import io.pointsman.engine.Requests;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity.Mode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Session affinity over a policy with choices that the tests script. */
class SessionAffinityTest {
  private static final Duration TTL = Duration.ofHours(2);

  private final TestFleet fleet = TestFleet.of(4);
  private SessionTable table = new SessionTable(100, TTL, fleet.clock::nanos);
  private volatile PickReason lastReason = PickReason.FALLBACK;
  private int lastBlocks;

  /** The worker that the inner policy chooses. */
  private Worker chosen = fleet.worker(0);

  private final EngineListener listener =
      new EngineListener() {
        @Override
        public void routed(RoutingRequest request, LeaseView lease) {
          lastReason = request.result().reason();
          lastBlocks = request.result().matchedBlocks();
        }

        @Override
        public void policyFailed(RuntimeException failure) {
          throw new AssertionError(failure);
        }
      };

  private RoutingEngine engine(Mode mode) {
    Policy scripted =
        pool ->
            (request, now) -> {
              request.picked(PickResult.of(PickReason.PREFIX_HIT, 3));
              return request.admits(chosen, now)
                  ? chosen
                  : pool.leastLoaded(now, request.tried(), fleet.random);
            };
    return engine(new PolicySetup(new SessionAffinity(scripted, table, mode), List.of(table)));
  }

  private RoutingEngine engine(PolicySetup setup) {
    return new RoutingEngine(
        fleet.fleet, setup, EngineSettings.DEFAULTS, listener, fleet.clock::nanos, fleet.random);
  }

  private static Lease place(RoutingEngine engine, RoutingRequest request) {
    if (engine.decide(request) instanceof Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError("rejected");
  }

  private static Worker serve(RoutingEngine engine, RoutingRequest request) {
    Lease lease = place(engine, request);
    lease.succeeded();
    return lease.worker();
  }

  private static Worker serve(RoutingEngine engine, String session) {
    return serve(engine, Requests.session(session));
  }

  @Test
  void policyChoosesTheFirstWorkerOfASession() {
    RoutingEngine engine = engine(Mode.HARD);
    chosen = fleet.worker(2);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    assertThat(lastBlocks).as("what the policy found out stays").isEqualTo(3);

    chosen = fleet.worker(1);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, names = "OFF", mode = EnumSource.Mode.EXCLUDE)
  void requestsWithoutASessionUseThePolicy(Mode mode) {
    RoutingEngine engine = engine(mode);
    for (int i = 0; i < 4; i++) {
      chosen = fleet.worker(i);
      assertThat(serve(engine, Requests.bare())).isSameAs(chosen);
      assertThat(serve(engine, Requests.prompt(1))).isSameAs(chosen);
      assertThat(serve(engine, Requests.id("r"))).isSameAs(chosen);
      assertThat(serve(engine, "x".repeat(257))).isSameAs(chosen);
    }
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
    assertThat(table.size()).isZero();
  }

  @Test
  void hardSessionStaysAtAnyLoad() {
    RoutingEngine engine = engine(Mode.HARD);
    Worker home = serve(engine, "s");
    fleet.load(home, 500);
    chosen = fleet.worker(3);

    for (int i = 0; i < 20; i++) {
      assertThat(serve(engine, "s")).isSameAs(home);
    }
  }

  @Test
  void softSessionStaysBelowItsWorkersShareAndMovesAtIt() {
    RoutingEngine engine = engine(Mode.SOFT);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(3);
    for (int i = 1; i < 4; i++) {
      fleet.load(fleet.worker(i), 2);
    }
    fleet.load(home, 2);
    // Eight in flight and this one on four workers: a share of three.
    assertThat(serve(engine, "s")).isSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);

    fleet.load(home, 1);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(3));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_MOVE);
    chosen = fleet.worker(1);
    assertThat(serve(engine, "s")).as("moved for good").isSameAs(fleet.worker(3));
    assertThat(table.size()).isEqualTo(1);
    assertThat(table.sessions(home)).isZero();
  }

  @Test
  void softSessionOnAnIdleFleetMovesOnlyAwayFromARequestInFlight() {
    RoutingEngine engine = engine(Mode.SOFT);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(1);
    assertThat(serve(engine, "s")).isSameAs(home);

    Lease running = place(engine, Requests.session("s"));
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(1));
    running.succeeded();
  }

  @Test
  void ineligibleWorkersHaveNoShare() {
    RoutingEngine engine = engine(Mode.SOFT);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(1);
    fleet.load(home, 1);
    fleet.load(fleet.worker(1), 1);
    fleet.worker(2).drain(true);
    fleet.worker(3).drain(true);

    // Two in flight and this one on two workers: a share of two.
    assertThat(serve(engine, "s")).isSameAs(home);
  }

  @Test
  void softSessionStaysIfThePolicyChoosesItsWorker() {
    RoutingEngine engine = engine(Mode.SOFT);
    Worker home = serve(engine, "s");
    fleet.load(home, 50);

    assertThat(serve(engine, "s")).isSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, names = "OFF", mode = EnumSource.Mode.EXCLUDE)
  void retryElsewhereDoesNotMoveTheSession(Mode mode) {
    RoutingEngine engine = engine(mode);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(2);
    RoutingRequest retry = Requests.session("s");
    retry.exclude(home);

    assertThat(serve(engine, retry)).isSameAs(fleet.worker(2));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BYPASS);
    assertThat(serve(engine, "s")).isSameAs(home);
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, names = "OFF", mode = EnumSource.Mode.EXCLUDE)
  void ineligibleWorkerLosesItsSessionsPermanently(Mode mode) {
    RoutingEngine engine = engine(mode);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(2);
    home.drain(true);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    home.drain(false);

    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
  }

  @ParameterizedTest
  @EnumSource(value = Mode.class, names = "OFF", mode = EnumSource.Mode.EXCLUDE)
  void sessionsMoveFromACordonedWorker(Mode mode) {
    RoutingEngine engine = engine(mode);
    Worker home = serve(engine, "s");
    chosen = fleet.worker(2);
    home.cordon(true);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
    home.cordon(false);
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(2));
  }

  @Test
  void hardSessionReturnsToItsWorkerWhenThatIsNoLongerBusy() {
    Worker limited = fleet.add(TestFleet.spec("limited", TestFleet.MODEL).withMaxInFlight(1));
    RoutingEngine engine = engine(Mode.HARD);
    chosen = limited;
    assertThat(serve(engine, "s")).isSameAs(limited);
    Lease other = fleet.lease(limited);
    assertThat(serve(engine, "s")).isNotSameAs(limited);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BYPASS);
    other.succeeded();

    assertThat(serve(engine, "s")).isSameAs(limited);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
  }

  @Test
  void workerReturningWithItsIdHasNoSessions() {
    RoutingEngine engine = engine(Mode.HARD);
    serve(engine, "s");
    fleet.fleet.remove("w0");
    assertThat(table.size()).isZero();
    fleet.add(TestFleet.spec("w0", TestFleet.MODEL));
    chosen = fleet.worker(1);

    assertThat(serve(engine, "s")).isSameAs(chosen);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
  }

  @Test
  void sessionAgesFromTheEndOfItsLastRequest() {
    RoutingEngine engine = engine(Mode.HARD);
    Lease lease = place(engine, Requests.session("s"));
    fleet.clock.advance(TTL.multipliedBy(2));
    lease.succeeded();
    fleet.clock.advance(TTL);
    chosen = fleet.worker(1);
    assertThat(serve(engine, "s")).isSameAs(lease.worker());

    fleet.clock.advance(TTL.plusNanos(1));
    assertThat(serve(engine, "s")).isSameAs(fleet.worker(1));
  }

  @Test
  void sessionThatCannotBeStoredUsesThePolicy() {
    table = new SessionTable(1, TTL, fleet.clock::nanos);
    RoutingEngine engine = engine(Mode.HARD);
    Lease first = place(engine, Requests.session("a"));
    chosen = fleet.worker(1);
    assertThat(serve(engine, "b")).isSameAs(fleet.worker(1));
    assertThat(lastReason).isEqualTo(PickReason.STICKY_FULL);
    assertThat(table.size()).isEqualTo(1);

    first.succeeded();
    serve(engine, "b");
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
  }

  static Stream<String> otherPolicies() {
    return Policies.names().stream().filter(name -> !name.equals("sticky_least_loaded"));
  }

  private PolicySetup setup(String name, Mode mode) {
    PolicySettings settings = PolicySettings.DEFAULTS.withAffinity(mode);
    PolicyParts parts = new PolicyParts(fleet.clock::nanos, fleet.random, 64, settings);
    return Policies.withAffinity(Policies.create(name, parts), parts);
  }

  @ParameterizedTest
  @MethodSource("otherPolicies")
  void everyPolicyWorksWithAffinity(String name) {
    RoutingEngine engine = engine(setup(name, Mode.HARD));
    SplittableRandom random = new SplittableRandom(4);
    Worker[] homes = new Worker[20];
    List<Lease> open = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      int session = random.nextInt(homes.length);
      Lease lease = place(engine, Requests.session("s" + session));
      @Nullable Worker home = homes[session];
      assertThat(lease.worker()).isSameAs(home == null ? lease.worker() : home);
      homes[session] = lease.worker();
      open.add(lease);
      if (open.size() > 10) {
        open.remove(random.nextInt(open.size())).succeeded();
      }
    }
    assertThat(homes).doesNotContainNull();
    open.forEach(Lease::succeeded);
    assertThat(fleet.pool().workers()).allMatch(worker -> worker.inFlight() == 0);
  }

  @Test
  void withoutAffinityThePolicyIsTheSame() {
    PolicyParts parts =
        new PolicyParts(fleet.clock::nanos, fleet.random, 64, PolicySettings.DEFAULTS);
    PolicySetup plain = Policies.create("least_load", parts);
    assertThat(Policies.withAffinity(plain, parts)).isSameAs(plain);
  }

  @Test
  void policyWithItsOwnSessionsRefusesAffinity() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> setup("sticky_least_loaded", Mode.SOFT))
        .withMessageStartingWith("session-affinity: soft (expected: off");
  }

  @Test
  void explainedRequestOpensAndMovesNoSession() {
    RoutingEngine engine = engine(Mode.SOFT);
    RoutingRequest first = Requests.session("s");
    assertThat(engine.explain(first)).isEqualTo(new Preview.Chosen(fleet.worker(0)));
    assertThat(first.result().reason()).isEqualTo(PickReason.STICKY_BIND);
    assertThat(first.explanation()).isNotNull();
    assertThat(table.size()).isZero();

    serve(engine, "s");
    chosen = fleet.worker(1);
    fleet.load(fleet.worker(0), 20);
    assertThat(engine.explain(Requests.session("s"))).isEqualTo(new Preview.Chosen(chosen));
    assertThat(table.sessions(fleet.worker(0))).isEqualTo(1);
    assertThat(table.sessions(chosen)).isZero();
    assertThat(chosen.inFlight()).isZero();
  }
}
