package io.pointsman.engine.fleet;

import static io.pointsman.engine.TestFleet.spec;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.TestFleet;
import io.pointsman.testkit.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class FleetTest {
  private static final FleetSettings ONE_SLOT =
      new FleetSettings(
          1, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS);

  private final TestFleet test = new TestFleet();
  private final Fleet fleet = test.fleet;

  @Test
  void newWorkerTakesTrafficAfterItsFirstGoodProbe() {
    Worker worker = fleet.add(spec("a"));
    assertThat(worker.eligible(test.now())).isFalse();

    worker.probed(true);
    assertThat(worker.eligible(test.now())).isTrue();
  }

  @Test
  void addingAnIdTwiceAnswersTheWorkerThatHasIt() {
    Worker first = fleet.add(spec("a"));
    long version = fleet.snapshot().version();

    assertThat(fleet.add(spec("a", "other"))).isSameAs(first);
    assertThat(fleet.snapshot().version()).isEqualTo(version);
  }

  @Test
  void manyWorkersAreAddedAsOneChange() {
    List<Worker> added = fleet.addAll(List.of(spec("a"), spec("b"), spec("a")));

    assertThat(added).extracting(Worker::id).containsExactly("a", "b", "a");
    assertThat(fleet.snapshot().workers()).extracting(Worker::id).containsExactly("a", "b");
    assertThat(fleet.snapshot().version()).isEqualTo(1);
  }

  @Test
  void listenerReceivesTheCurrentSnapshotAndThenEachChangeInOrder() {
    fleet.add(spec("a"));
    List<Long> versions = new ArrayList<>();
    fleet.listen(snapshot -> versions.add(snapshot.version()));
    fleet.add(spec("b"));
    fleet.remove("a");
    fleet.remove("nobody");

    assertThat(versions).containsExactly(1L, 2L, 3L);
  }

  @Test
  void listenerThatJoinsWhileTheFleetChangesMissesNothing() throws Exception {
    try (ExecutorService pool = Executors.newFixedThreadPool(1)) {
      for (int round = 0; round < 50; round++) {
        Fleet busy = new Fleet(FleetSettings.DEFAULTS, test.clock::nanos);
        CountDownLatch started = new CountDownLatch(1);
        Future<?> changes =
            pool.submit(
                () -> {
                  started.countDown();
                  for (int i = 0; i < 30; i++) {
                    busy.add(spec("w" + i));
                  }
                });
        started.await();
        List<Long> versions = new ArrayList<>();
        busy.listen(snapshot -> versions.add(snapshot.version()));
        changes.get(60, TimeUnit.SECONDS);

        assertThat(versions.getLast()).isEqualTo(30);
        for (int i = 1; i < versions.size(); i++) {
          assertThat(versions.get(i)).isEqualTo(versions.get(i - 1) + 1);
        }
      }
    }
  }

  @Test
  void workersAreFoundByIdRoleAndModel() {
    Worker a = fleet.add(spec("a", "m1", "m2"));
    Worker b = fleet.add(spec("b", "m2"));
    Worker prefill =
        fleet.add(
            new WorkerSpec(
                "p", "http://p", Role.PREFILL, Set.of("m1"), WorkerSpec.NO_RANK, 0, Map.of()));
    FleetSnapshot snapshot = fleet.snapshot();

    assertThat(snapshot.worker("b")).isSameAs(b);
    assertThat(snapshot.worker("c")).isNull();
    assertThat(pool("m1").workers()).containsExactly(a);
    assertThat(pool("m2").workers()).containsExactly(a, b);
    assertThat(snapshot.pool(Role.REGULAR, "m3")).isNull();
    assertThat(snapshot.pool(Role.PREFILL).workers()).containsExactly(prefill);
    assertThat(snapshot.modelNames()).containsExactly("m1", "m2");
  }

  @Test
  void aModelMustBeNamedIfNoneIsServedByAll() {
    fleet.add(spec("unlisted"));
    fleet.add(spec("a", "base", "adapter"));
    assertThat(fleet.snapshot().modelsToName()).isEmpty();
    fleet.add(spec("b", "alias", "base"));
    assertThat(fleet.snapshot().modelsToName()).isEmpty();

    Worker other = fleet.add(spec("c"));
    fleet.learnModels(other, Set.of("other"));
    assertThat(fleet.snapshot().modelsToName())
        .containsExactly("adapter", "alias", "base", "other");

    fleet.remove("c");
    assertThat(fleet.snapshot().modelsToName()).isEmpty();
  }

  @Test
  void learnedModelsMoveTheWorkerBetweenPools() {
    Worker worker = fleet.add(spec("a"));

    fleet.learnModels(worker, Set.of("m1"));
    long version = fleet.snapshot().version();
    assertThat(pool("m1").workers()).containsExactly(worker);

    fleet.learnModels(worker, Set.of("m1"));
    assertThat(fleet.snapshot().version()).isEqualTo(version);
  }

  @Test
  void modelsChangeTogetherWithTheSnapshot() {
    Worker worker = fleet.add(spec("a"));
    FleetSnapshot before = fleet.snapshot();
    List<Set<String>> seen = new ArrayList<>();
    fleet.listen(snapshot -> seen.add(snapshot.models(worker).names()));

    fleet.learnModels(worker, Set.of("m1"));

    assertThat(seen).containsExactly(Set.of(), Set.of("m1"));
    assertThat(worker.models()).containsExactly("m1");
    assertThat(before.models(worker).known()).isFalse();
    assertThat(before.pool(Role.REGULAR, "m1")).isNull();
    fleet.remove("a");
    assertThat(fleet.snapshot().models(worker).known()).isFalse();
  }

  @Test
  void modelsOfAWorkerThatHasLeftAreNotPublished() {
    Worker gone = fleet.add(spec("a"));
    fleet.remove("a");
    fleet.add(spec("a"));
    long version = fleet.snapshot().version();
    fleet.learnModels(gone, Set.of("m1"));

    assertThat(fleet.snapshot().version()).isEqualTo(version);
    assertThat(fleet.snapshot().modelNames()).isEmpty();
  }

  @Test
  void unchangedPoolsAreKept() {
    fleet.add(spec("a", "m1"));
    Pool before = pool("m1");
    fleet.add(spec("b", "m2"));
    assertThat(pool("m1").workers()).isEqualTo(before.workers());

    Pool kept = pool("m1");
    fleet.add(spec("c", "m2"));
    assertThat(pool("m1")).isSameAs(kept);
  }

  @Test
  void modelThatAllServeSharesThePoolOfAll() {
    fleet.addAll(List.of(spec("a", "m1"), spec("b", "m1", "m2")));

    assertThat(pool("m1")).isSameAs(fleet.snapshot().pool(Role.REGULAR));
    assertThat(pool("m2")).isNotSameAs(fleet.snapshot().pool(Role.REGULAR));
  }

  @Test
  void removedWorkerGetsNoRequestAndFinishesThoseInFlight() {
    Worker worker = test.add(spec("a"));
    Lease running = test.lease(worker);
    assertThat(fleet.remove("a")).isSameAs(worker);

    assertThat(worker.left()).isTrue();
    assertThat(worker.eligible(test.now())).isFalse();
    worker.drain(false);
    assertThat(worker.draining()).isTrue();
    assertThat(worker.tryLease(test.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(worker.inFlight()).isEqualTo(1);

    running.succeeded();
    assertThat(worker.inFlight()).isZero();
    assertThat(fleet.remove("a")).isNull();
  }

  @Test
  void removalOfAWorkerDoesNotAffectTheNextOneWithItsId() {
    Worker old = fleet.add(spec("a"));
    assertThat(fleet.remove(old)).isTrue();
    Worker next = fleet.add(spec("a"));

    assertThat(fleet.remove(old)).isFalse();
    assertThat(fleet.snapshot().worker("a")).isSameAs(next);
  }

  @Test
  void replacementUsesTheSlotsOfIdleWorkersOrChangesNothing() {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker old = small.add(spec("a"));
    Lease running = small.lease(old);
    assertThatThrownBy(() -> small.fleet.replace(List.of(old), List.of(spec("b"))))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageStartingWith("workers: 2,");
    assertThat(small.fleet.snapshot().workers()).containsExactly(old);
    assertThat(old.eligible(small.now())).isTrue();

    running.succeeded();
    small.fleet.replace(List.of(old), List.of(spec("b")));
    assertThat(small.fleet.snapshot().workers()).extracting(Worker::id).containsExactly("b");
    assertThat(old.left()).isTrue();
  }

  @Test
  void aReplacementServesAtOnceAndKeepsTheCordon() {
    Worker serving = test.add(spec("a"));
    fleet.learnModels(serving, Set.of("m"));
    Worker cordoned = test.add(spec("b", "m"));
    cordoned.cordon(true);
    fleet.replace(
        List.of(serving, cordoned),
        List.of(spec("a").withRole(Role.DECODE), spec("b", "m").withMaxInFlight(3)));

    Worker next = Objects.requireNonNull(fleet.snapshot().worker("a"));
    assertThat(next.eligible(test.now())).isTrue();
    assertThat(next.earlierRole()).isEqualTo(Role.REGULAR);
    assertThat(fleet.snapshot().pool(Role.DECODE, "m")).isNotNull();
    Worker other = Objects.requireNonNull(fleet.snapshot().worker("b"));
    assertThat(other.cordoned()).isTrue();
    assertThat(other.eligible(test.now())).isFalse();
    other.cordon(false);
    assertThat(other.eligible(test.now())).isTrue();
  }

  /** A failed reload removes workers and brings them back. */
  @Test
  void aWorkerThatComesBackIsCordonedOrDrainedAsBefore() {
    Worker cordoned = test.add(spec("a", "m"));
    Worker drained = test.add(spec("b", "m"));
    cordoned.cordon(true);
    drained.drain(true);
    List<FormerWorker> former = new ArrayList<>();
    fleet.replace(List.of(cordoned, drained), List.of(), former);
    fleet.restore(List.of(), former);
    cordoned.cordon(false);

    assertThat(fleet.snapshot().worker("a")).isSameAs(cordoned);
    assertThat(cordoned.withdrawn()).isFalse();
    assertThat(cordoned.eligible(test.now())).isTrue();
    assertThat(drained.withdrawn()).isTrue();
  }

  @Test
  void aReplacementWaitsForAProbeUnlessTheSameEngineServed() {
    Worker out = test.add(spec("a", "m"));
    test.kill(out);
    Worker asleep = test.add(spec("b", "m"));
    asleep.sleep(true);
    Worker elsewhere = test.add(spec("c", "m"));
    WorkerSpec moved =
        new WorkerSpec("c", "http://moved:1", Role.REGULAR, Set.of("m"), -1, 0, Map.of());
    fleet.replace(
        List.of(out, asleep, elsewhere),
        List.of(spec("a", "m").withMaxInFlight(3), spec("b", "m").withMaxInFlight(3), moved));

    assertThat(fleet.snapshot().workers())
        .hasSize(3)
        .noneMatch(worker -> worker.health().healthy());
  }

  @Test
  void anUndoneReplacementNeedsNoMoreSlotsThanBefore() {
    TestFleet small =
        new TestFleet(
            new FleetSettings(
                3, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS));
    Worker busy = small.add(spec("a", "m"));
    Worker idle = small.add(spec("b", "m"));
    Lease running = small.lease(busy);
    List<FormerWorker> former = new ArrayList<>();
    small.fleet.replace(
        List.of(busy, idle),
        List.of(spec("a", "m").withMaxInFlight(3), spec("b", "m").withMaxInFlight(3)),
        former);
    List<Worker> added = small.fleet.snapshot().workers();
    small.lease(added.getFirst());

    small.fleet.restore(added, former);
    assertThat(small.fleet.snapshot().worker("a")).isSameAs(busy);
    assertThat(small.fleet.snapshot().workers())
        .extracting(Worker::spec)
        .containsExactlyInAnyOrder(busy.spec(), idle.spec());
    assertThat(small.fleet.snapshot().workers()).allMatch(worker -> worker.eligible(small.now()));
    running.succeeded();
    assertThat(busy.inFlight()).isZero();
  }

  @Test
  void anEngineIsFoundByIdOrByUrlAndRank() {
    Worker rank = fleet.add(WorkerSpec.of("http://x:1").atRank(1));
    Worker whole = fleet.add(WorkerSpec.of("http://y:1"));
    WorkerSpec named =
        new WorkerSpec("other", "http://x:1", Role.REGULAR, Set.of(), 1, 0, Map.of());
    FleetSnapshot snapshot = fleet.snapshot();

    assertThat(snapshot.sameEngine(named)).isSameAs(rank);
    assertThat(snapshot.sameEngine(WorkerSpec.of("http://x:1"))).isNull();
    assertThat(snapshot.sameEngine(WorkerSpec.of("https://y:1"))).isSameAs(whole);
  }

  @Test
  void aSpecIsFoundAlthoughTheFleetHasLimitedIt() {
    WorkerSpec prefill = WorkerSpec.of("http://p:1").withRole(Role.PREFILL);
    fleet.add(prefill);

    assertThat(fleet.holds(prefill)).isTrue();
    assertThat(fleet.holds(prefill.withModels(Set.of("m")))).isFalse();
    assertThat(fleet.holds(spec("q"))).isFalse();
  }

  @Test
  void theMaximumOfWorkersChanges() {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker first = small.add(spec("a"));
    small.fleet.limit(3);
    Worker second = small.add(spec("b"));
    Worker third = small.add(spec("c"));
    assertThatThrownBy(() -> small.fleet.limit(2))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("max-workers: 2 (expected: at least 3, the workers now)");
    small.fleet.remove(second);
    small.fleet.remove(first);

    // The worker in the highest slot stays in use below a lower maximum.
    small.fleet.limit(1);
    Lease lease = small.lease(third);
    assertThat(third.inFlight()).isEqualTo(1);
    lease.ignored();
    assertThatThrownBy(() -> small.fleet.add(spec("d"))).hasMessageContaining("at most 1");
    small.fleet.limit(2);
    assertThat(small.fleet.add(spec("d")).slot()).isEqualTo(first.slot());
  }

  @Test
  void theMaximumOfWorkersStaysWithinTheSlots() {
    Fleet small = new TestFleet(ONE_SLOT).fleet;
    assertThat(small.slots()).isEqualTo(FleetSettings.LEAST_SLOTS);
    small.limit(small.slots());
    assertThatThrownBy(() -> small.limit(small.slots() + 1))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("maxWorkers: 16385 (expected: at most 16384, the slots)");
    Fleet large = new TestFleet(ONE_SLOT.withMaxWorkers(20_000)).fleet;
    large.limit(1);
    assertThat(large.slots()).isEqualTo(20_000);
  }

  @Test
  void slotIsReusedOnceTheLastRequestHasEnded() {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker old = small.add(spec("a"));
    Lease running = small.lease(old);
    small.fleet.remove("a");
    assertThatThrownBy(() -> small.fleet.add(spec("b")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("workers: 0 (expected: at most 1)");

    running.ignored();
    assertThat(small.fleet.add(spec("b")).slot()).isEqualTo(old.slot());
  }

  @Test
  void workersAddedBeforeTheFleetIsFullStay() {
    TestFleet small = new TestFleet(ONE_SLOT);
    assertThatThrownBy(() -> small.fleet.addAll(List.of(spec("a"), spec("b"))))
        .isInstanceOf(IllegalStateException.class);

    assertThat(small.fleet.snapshot().worker("a")).isNotNull();
    assertThat(small.fleet.snapshot().worker("b")).isNull();
  }

  @Test
  void departedWorkerDoesNotAffectItsSlotsNextOwner() {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker old = small.add(spec("a"));
    Pool stale = small.pool();
    Lease lease = small.lease(old);
    small.fleet.remove("a");
    lease.succeeded();
    Worker next = small.add(spec("b"));
    small.load(next, 3);

    small.kill(old);
    old.rest(1_000_000_000);
    old.drain(true);
    lease.progressed();
    assertThat(next.eligible(small.now())).isTrue();
    assertThat(next.draining()).isFalse();

    assertThat(old.tryLease(small.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(stale.worker(0).eligible(small.now())).isFalse();
    assertThat(next.inFlight()).isEqualTo(3);
    assertThat(old.inFlight()).isZero();

    next.drain(true);
    next.rest(1_000_000_000);
    assertThat(old.stalled()).isFalse();
    old.probed(true);
    old.drain(false);
    assertThat(next.draining()).isTrue();
  }

  @Test
  void nextOwnerStartsWithoutTheMarksOfTheLast() {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker old = small.add(spec("a"));
    old.rest(1_000_000_000_000L);
    for (int i = 0; i < 3; i++) {
      old.probed(false);
    }
    small.fleet.remove("a");
    Worker next = small.fleet.add(spec("b"));

    assertThat(next.draining()).isFalse();
    assertThat(next.eligible(small.now())).isFalse();
    next.probed(true);
    assertThat(next.eligible(small.now())).isTrue();
  }

  @Test
  void requestsConcurrentWithRemovalLeaveEveryCountAtZero() throws Exception {
    TestFleet small = new TestFleet(ONE_SLOT);
    Worker[] current = {small.add(spec("w"))};
    List<Worker> all = new ArrayList<>(List.of(current[0]));
    try (ExecutorService pool = Executors.newFixedThreadPool(2)) {
      CountDownLatch stop = new CountDownLatch(1);
      List<Future<?>> clients = new ArrayList<>();
      for (int t = 0; t < 2; t++) {
        clients.add(pool.submit(() -> request(small, stop)));
      }
      for (int i = 0; i < 2000; i++) {
        small.fleet.remove("w");
        current[0] = addOnceFree(small);
        all.add(current[0]);
      }
      stop.countDown();
      for (Future<?> client : clients) {
        client.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(all).allSatisfy(w -> assertThat(w.inFlight()).isZero());
    assertThat(current[0].eligible(small.now())).isTrue();
  }

  private static void request(TestFleet small, CountDownLatch stop) {
    while (stop.getCount() > 0) {
      Pool pool = small.pool();
      for (int i = 0; i < 3 && !pool.isEmpty(); i++) {
        Lease lease = pool.worker(0).tryLease(small.now(), 1, 0, (_, _) -> {});
        if (lease != null) {
          assertThat(lease.worker().inFlight()).isPositive();
          lease.succeeded();
        }
      }
    }
  }

  private static Worker addOnceFree(TestFleet small) {
    long start = System.nanoTime();
    while (true) {
      try {
        return small.add(spec("w"));
      } catch (IllegalStateException e) { // the removed one still has a request in flight
        if (System.nanoTime() - start > Await.LONG.toNanos()) {
          throw e;
        }
        Thread.onSpinWait();
      }
    }
  }

  private Pool pool(String model) {
    return Objects.requireNonNull(fleet.snapshot().pool(Role.REGULAR, model), model);
  }
}
