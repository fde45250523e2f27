package io.pointsman.engine.policy.catalog;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.pointsman.engine.Decision;
import io.pointsman.engine.Decision.Rejected;
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
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of every policy, checked for each name in {@link Policies}. */
class PolicyContractTest {
  private static final PolicySettings BOUNDED =
      new PolicySettings(
          160,
          1.25,
          CacheAwareSettings.DEFAULTS,
          PolicySettings.DEFAULTS.sessionTtl(),
          PolicySettings.DEFAULTS.maxSessions());

  static List<String> names() {
    return Policies.names();
  }

  private static PolicySetup setup(String name, TestFleet fleet, PolicySettings settings) {
    return Policies.create(
        name, new PolicyParts(fleet.clock::nanos, fleet.random, 16_384, settings));
  }

  private static RoutingEngine engine(String name, TestFleet fleet) {
    return engine(name, fleet, false);
  }

  /**
   * @param races true if other threads may take the policy's choice, so the engine sometimes
   *     chooses instead
   */
  private static RoutingEngine engine(String name, TestFleet fleet, boolean races) {
    return new RoutingEngine(
        fleet.fleet,
        setup(name, fleet, PolicySettings.DEFAULTS),
        EngineSettings.DEFAULTS,
        new FaultsAreErrors(races),
        fleet.clock::nanos,
        fleet.random);
  }

  /** Turns a policy's fault into an error; the engine's fallback would hide it. */
  private record FaultsAreErrors(boolean fallbacks) implements EngineListener {
    @Override
    public void routed(RoutingRequest request, LeaseView lease) {
      if (!fallbacks && request.result().reason() == PickReason.FALLBACK) {
        throw new AssertionError("policy found nobody");
      }
    }

    @Override
    public void policyFailed(RuntimeException failure) {
      throw new AssertionError("policy failed", failure);
    }
  }

  private static @Nullable Worker pick(Picker picker, RoutingRequest request, TestFleet fleet) {
    return picker.pick(request, fleet.now());
  }

  @ParameterizedTest
  @MethodSource("names")
  void neverPicksAnIneligibleOrTriedWorker(String name) {
    for (PolicySettings settings : List.of(PolicySettings.DEFAULTS, BOUNDED)) {
      TestFleet fleet = TestFleet.of(12);
      Picker picker = setup(name, fleet, settings).policy().picker(fleet.pool());
      fleet.kill(fleet.worker(0));
      fleet.worker(1).drain(true);
      fleet.worker(2).rest(1_000_000_000);
      fleet.fleet.remove("w3");
      fleet.load(fleet.worker(5), 7);
      for (int i = 0; i < 400; i++) {
        RoutingRequest request = Requests.ofKind(i % Requests.KINDS, i);
        Worker tried = fleet.worker(5 + i % 5);
        request.exclude(tried);
        Worker picked = Objects.requireNonNull(pick(picker, request, fleet), "picked");

        assertThat(picked).isNotSameAs(tried);
        assertThat(picked.eligible(fleet.now())).isTrue();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void picksTheOnlyEligibleWorkerOrNone(String name) {
    for (PolicySettings settings : List.of(PolicySettings.DEFAULTS, BOUNDED)) {
      TestFleet fleet = TestFleet.of(40);
      Picker picker = setup(name, fleet, settings).policy().picker(fleet.pool());
      Worker only = fleet.worker(17);
      fleet.load(only, 100);
      for (Worker worker : fleet.pool().workers()) {
        worker.drain(worker != only);
      }
      for (int i = 0; i < 40; i++) {
        assertThat(pick(picker, Requests.ofKind(i % Requests.KINDS, i), fleet)).isSameAs(only);
      }
      only.drain(true);
      for (int i = 0; i < 40; i++) {
        assertThat(pick(picker, Requests.ofKind(i % Requests.KINDS, i), fleet)).isNull();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void emptyPoolHasNoWorker(String name) {
    TestFleet fleet = new TestFleet();
    Picker picker = setup(name, fleet, BOUNDED).policy().picker(fleet.pool());
    for (int kind = 0; kind < Requests.KINDS; kind++) {
      assertThat(pick(picker, Requests.ofKind(kind, 1), fleet)).isNull();
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void sameRandomSourceAndClockGiveTheSameDecisions(String name) {
    assertThat(history(name)).isEqualTo(history(name)).hasSize(600);
  }

  /** The policy's choices in a run with uneven loads, failures and a fleet change. */
  private static List<String> history(String name) {
    TestFleet fleet = TestFleet.of(6);
    RoutingEngine engine = engine(name, fleet);
    SplittableRandom random = new SplittableRandom(3);
    List<String> chosen = new ArrayList<>();
    List<Lease> open = new ArrayList<>();
    for (int i = 0; i < 600; i++) {
      if (i == 300) {
        fleet.fleet.remove("w4");
        fleet.add(TestFleet.spec("w6", TestFleet.MODEL));
      }
      Lease lease = routed(engine.decide(Requests.ofKind(i % Requests.KINDS, i % 37)));
      chosen.add(lease.worker().id());
      open.add(lease);
      if (random.nextInt(3) > 0) {
        Lease ended = open.remove(random.nextInt(open.size()));
        ended.settle(random.nextInt(50) == 0 ? Outcome.IGNORED : Outcome.SUCCEEDED);
      }
    }
    return chosen;
  }

  private static Lease routed(Decision decision) {
    return switch (decision) {
      case Routed(Lease lease) -> lease;
      case Rejected rejected -> throw new AssertionError(rejected);
    };
  }

  @ParameterizedTest
  @MethodSource("names")
  void requestsWithoutKeyAreSpread(String name) {
    TestFleet fleet = TestFleet.of(4);
    RoutingEngine engine = engine(name, fleet);
    int[] counts = new int[4];
    for (int i = 0; i < 400; i++) {
      Lease lease = routed(engine.decide(Requests.bare()));
      counts[fleet.pool().workers().indexOf(lease.worker())]++;
      lease.succeeded();
    }

    for (int count : counts) {
      assertThat(count).isBetween(60, 140);
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void newKeysAreSpread(String name) {
    TestFleet fleet = TestFleet.of(4);
    RoutingEngine engine = engine(name, fleet);
    for (int kind = 1; kind < Requests.KINDS; kind++) {
      Set<Worker> used = new HashSet<>();
      for (int i = 0; i < 60; i++) {
        Lease lease = routed(engine.decide(Requests.ofKind(kind, 1000L * i)));
        used.add(lease.worker());
        lease.succeeded();
      }
      assertThat(used).as("kind %s", kind).hasSize(4);
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void addedAndRemovedWorkersAreFollowed(String name) {
    TestFleet fleet = TestFleet.of(3);
    RoutingEngine engine = engine(name, fleet);
    SplittableRandom random = new SplittableRandom(11);
    List<Lease> open = new ArrayList<>();
    for (int i = 0; i < 2000; i++) {
      int rolled = random.nextInt(100);
      if (rolled < 3) {
        fleet.add(TestFleet.spec("w" + random.nextInt(8), TestFleet.MODEL));
      } else if (rolled < 6 && fleet.pool().size() > 1) {
        fleet.fleet.remove(fleet.worker(random.nextInt(fleet.pool().size())).id());
      }
      Lease lease = routed(engine.decide(Requests.ofKind(i % Requests.KINDS, i % 50)));
      assertThat(fleet.pool().workers()).contains(lease.worker());
      open.add(lease);
      if (open.size() > 20) {
        open.remove(random.nextInt(open.size())).succeeded();
      }
    }
    open.forEach(Lease::succeeded);
    assertThat(fleet.pool().workers()).allMatch(w -> w.inFlight() == 0);
  }

  @ParameterizedTest
  @MethodSource("names")
  void workerReturningWithItsIdIsANewOne(String name) {
    TestFleet fleet = TestFleet.of(1);
    RoutingEngine engine = engine(name, fleet);
    for (int round = 0; round < 5; round++) {
      for (int i = 0; i < 20; i++) {
        Lease lease = routed(engine.decide(Requests.ofKind(i % Requests.KINDS, i)));
        assertThat(lease.worker()).isSameAs(fleet.worker(0));
        lease.succeeded();
      }
      fleet.fleet.remove("w0");
      assertThat(engine.decide(Requests.session("s1"))).isInstanceOf(Rejected.class);
      fleet.add(TestFleet.spec("w0", TestFleet.MODEL));
    }
  }

  @ParameterizedTest
  @MethodSource("names")
  void accountingIsExactUnderConcurrency(String name) throws Exception {
    TestFleet fleet = TestFleet.of(5);
    fleet.add(TestFleet.spec("limited", TestFleet.MODEL).withMaxInFlight(2));
    RoutingEngine engine = engine(name, fleet, true);
    int threads = 4;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> done = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        SplittableRandom random = new SplittableRandom(t);
        done.add(pool.submit(() -> serve(engine, random)));
      }
      for (int i = 0; i < 50; i++) {
        fleet.fleet.remove("w" + i % 5);
        fleet.add(TestFleet.spec("w" + i % 5, TestFleet.MODEL));
      }
      for (Future<?> future : done) {
        future.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(fleet.pool().workers()).hasSize(6).allMatch(w -> w.inFlight() == 0);
  }

  private static void serve(RoutingEngine engine, SplittableRandom random) {
    for (int i = 0; i < 1500; i++) {
      RoutingRequest request = Requests.ofKind(random.nextInt(Requests.KINDS), random.nextInt(99));
      if (engine.decide(request) instanceof Routed(Lease lease)) {
        int inFlight = lease.worker().inFlight();
        assertThat(inFlight).isPositive();
        if (lease.worker().maxInFlight() > 0) {
          assertThat(inFlight).isLessThanOrEqualTo(2);
        }
        if (random.nextInt(30) == 0) {
          lease.failed(Failure.ERROR);
        } else {
          lease.succeeded();
        }
      }
    }
  }

  /**
   * 64 bytes, and a {@link PickResult} of 56 bytes for a reason with expectations. It replaces
   * fields of each request.
   */
  private static final int MOST_BYTES = 64 + 56;

  @ParameterizedTest
  @MethodSource("names")
  void pickAllocatesAlmostNothing(String name) {
    TestFleet fleet = TestFleet.of(10);
    Picker picker = setup(name, fleet, PolicySettings.DEFAULTS).policy().picker(fleet.pool());
    List<RoutingRequest> requests = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      requests.add(Requests.ofKind(i % Requests.KINDS, i));
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 30 && least > MOST_BYTES; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 2000; i++) {
        pick(picker, requests.get(i & 63), fleet);
      }
      least = Math.min(least, (threads.getCurrentThreadAllocatedBytes() - before) / 2000);
    }

    assertThat(least).as("bytes per pick").isLessThanOrEqualTo(MOST_BYTES);
  }
}
