package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.TestFleet;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** The number in flight equals the leases taken and not settled, for any order and thread. */
class LeaseProperties {

  @Property(tries = 300)
  void requestsInFlightEqualUnsettledLeases(
      @ForAll @IntRange(min = 1, max = 5) int workers,
      @ForAll @Size(max = 200) List<@IntRange(max = 9_999) Integer> steps) {
    TestFleet fleet = TestFleet.of(workers);
    Map<Worker, Integer> expected = new HashMap<>();
    List<Lease> open = new ArrayList<>();
    List<Lease> settled = new ArrayList<>();
    for (int step : steps) {
      step(fleet, step, expected, open, settled);
      for (Worker worker : fleet.fleet.snapshot().workers()) {
        assertThat(worker.inFlight()).isEqualTo(expected.getOrDefault(worker, 0));
      }
    }
    open.forEach(Lease::ignored);
    for (Worker worker : fleet.fleet.snapshot().workers()) {
      assertThat(worker.inFlight()).isZero();
      assertThat(worker.pendingTokens()).isZero();
    }
  }

  @Property(tries = 1000)
  void reportsInAnyOrderLeaveNoCountBehind(
      @ForAll LeaseKind kind,
      @ForAll @Size(max = 8) List<Report> before,
      @ForAll @IntRange(max = 4) int outcome,
      @ForAll @Size(max = 8) List<Report> after) {
    TestFleet fleet = TestFleet.of(1);
    Worker worker = fleet.worker(0);
    Lease lease =
        Objects.requireNonNull(worker.tryLease(fleet.now(), kind, 100, 0, (_, _) -> {}), "lease");

    before.forEach(report -> report.to(lease));
    assertThat(counts(worker)).allMatch(count -> count >= 0 && count <= 100);
    assertThat(worker.inFlight()).isEqualTo(1);
    Usage usage = lease.usage();
    lease.settle(outcome(outcome));
    after.forEach(report -> report.to(lease));

    assertThat(counts(worker)).containsOnly(0L);
    assertThat(lease.usage()).isEqualTo(usage);
  }

  private static List<Long> counts(Worker worker) {
    return List.of(
        (long) worker.inFlight(),
        worker.pendingTokens(),
        (long) worker.reserved(),
        (long) worker.leases().counts().whole(),
        (long) worker.answering(),
        (long) worker.suspects());
  }

  /** A report between the placement and the settlement. */
  enum Report {
    DISPATCHED(Lease::dispatched),
    ACCEPTED(Lease::accepted),
    PROGRESSED(Lease::progressed),
    OUTPUT(Lease::reportedOutput),
    FIRST_TOKEN(Lease::firstToken),
    ANSWERS_WELL(Lease::answersWell),
    SUSPECT(Lease::suspect),
    CLEARED(Lease::cleared),
    CLIENT_LEFT(Lease::clientLeft),
    CLIENT_PAUSED(Lease::clientPaused),
    USAGE(lease -> lease.reported(new Usage(3, 2, 1)));

    @SuppressWarnings("ImmutableEnumChecker") // A lambda without state.
    private final Consumer<Lease> to;

    Report(Consumer<Lease> to) {
      this.to = to;
    }

    void to(Lease lease) {
      to.accept(lease);
    }
  }

  private static void step(
      TestFleet fleet,
      int step,
      Map<Worker, Integer> expected,
      List<Lease> open,
      List<Lease> settled) {
    int argument = step / 10;
    int size = fleet.pool().size();
    switch (step % 10) {
      case 0, 1, 2, 3 -> {
        Worker worker = fleet.worker(argument % size);
        Lease lease = worker.tryLease(fleet.now(), argument, 0, (_, _) -> {});
        if (lease != null) {
          open.add(lease);
          expected.merge(worker, 1, Integer::sum);
        }
      }
      case 4 -> fleet.worker(argument % size).probed(true);
      case 5 -> {
        if (!settled.isEmpty()) {
          settleAgain(settled.get(argument % settled.size()));
        }
      }
      default -> {
        if (!open.isEmpty()) {
          Lease lease = open.get(argument % open.size());
          if (step % 10 == 6) {
            lease.progressed();
            return;
          }
          open.remove(lease);
          settled.add(lease);
          expected.merge(lease.worker(), -1, Integer::sum);
          assertThat(lease.settle(outcome(argument))).isTrue();
        }
      }
    }
  }

  private static Outcome outcome(int n) {
    Failure[] failures = Failure.values();
    return switch (n % 5) {
      case 0, 1 -> Outcome.SUCCEEDED;
      case 2 -> Outcome.IGNORED;
      default -> new Outcome.Failed(failures[n % failures.length]);
    };
  }

  /** A second settlement must fail visibly. */
  private static void settleAgain(Lease lease) {
    assertThatThrownBy(() -> lease.settle(Outcome.IGNORED))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("settled twice");
  }

  @Property(tries = 12)
  void concurrentSettlementsEndAtZero(@ForAll long seed) throws Exception {
    TestFleet fleet = TestFleet.of(3);
    Worker limited = fleet.add(TestFleet.spec("limited").withMaxInFlight(2));
    int threads = 4;
    AtomicInteger doubleSettles = new AtomicInteger();
    AtomicBoolean outOfRange = new AtomicBoolean();
    CountDownLatch start = new CountDownLatch(1);
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> done = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        SplittableRandom random = new SplittableRandom(seed + t);
        done.add(
            pool.submit(
                () -> {
                  start.await();
                  for (int i = 0; i < 2000; i++) {
                    hammer(fleet, random, doubleSettles);
                    int now = limited.inFlight();
                    outOfRange.compareAndSet(false, now < 0 || now > 2);
                  }
                  return null;
                }));
      }
      start.countDown();
      for (Future<?> future : done) {
        future.get(60, TimeUnit.SECONDS);
      }
    }
    assertThat(outOfRange).isFalse();
    assertThat(doubleSettles.get()).isPositive();
    for (Worker worker : fleet.fleet.snapshot().workers()) {
      assertThat(worker.inFlight()).isZero();
      assertThat(worker.pendingTokens()).isZero();
    }
  }

  private static void hammer(TestFleet fleet, SplittableRandom random, AtomicInteger doubles) {
    Worker worker = fleet.worker(random.nextInt(4));
    Lease lease = worker.tryLease(fleet.now(), 10, 0, (_, _) -> {});
    if (lease == null) {
      worker.probed(true);
      return;
    }
    if (random.nextBoolean()) {
      lease.progressed();
    }
    lease.settle(random.nextInt(20) == 0 ? outcome(random.nextInt(100)) : Outcome.SUCCEEDED);
    if (random.nextInt(50) == 0) {
      settleAgain(lease);
      doubles.incrementAndGet();
    }
  }
}
