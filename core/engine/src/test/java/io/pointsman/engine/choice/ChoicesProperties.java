package io.pointsman.engine.choice;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Requests;
import io.pointsman.engine.choice.LeaseResult.Kind;
import io.pointsman.engine.fleet.Outcome;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

/** Held leases are those chosen and neither settled nor overdue, in any order and on any thread. */
class ChoicesProperties {
  private static final int MOST = 8;

  /** The proxy's knowledge of one of its leases. */
  private static final class Known {
    final String id;
    long expiresAt;
    boolean settled;

    Known(String id, long expiresAt) {
      this.id = id;
      this.expiresAt = expiresAt;
    }

    Kind expected(long now) {
      if (settled) {
        return Kind.REPEATED;
      }
      return now - expiresAt >= 0 ? Kind.UNKNOWN : Kind.DONE;
    }
  }

  @Property(tries = 300)
  void leasesAgreeWithTheModel(
      @ForAll @Size(max = 200) List<@IntRange(max = 9_999) Integer> steps) {
    Duration most = Duration.ofSeconds(100);
    ChoiceFleet fleet =
        new ChoiceFleet("least_load", 3, new ExternalLeaseSettings(MOST, most, most, most));
    List<Known> known = new ArrayList<>();
    for (int step : steps) {
      step(fleet, step, known);
      long now = fleet.workers.now();
      long held = known.stream().filter(each -> each.expected(now) == Kind.DONE).count();
      fleet.choices.expireDue();
      assertThat(fleet.choices.open()).isEqualTo((int) held);
      assertThat(fleet.inFlight()).isEqualTo((int) held);
    }
  }

  private static void step(ChoiceFleet fleet, int step, List<Known> known) {
    int argument = step / 10;
    long now = fleet.workers.now();
    switch (step % 10) {
      case 0, 1, 2, 3 -> {
        Duration ttl = Duration.ofSeconds(1 + argument % 100);
        if (fleet.choices.choose(Requests.bare(), ttl) instanceof Choice.Leased held) {
          known.add(new Known(held.lease(), now + ttl.toNanos()));
        } else {
          assertThat(fleet.choices.open()).isEqualTo(MOST);
        }
      }
      case 4, 5 -> fleet.pass(Duration.ofSeconds(argument % 60));
      default -> {
        // Older leases may have been overwritten and forgotten.
        int last = Math.min(known.size(), MOST);
        if (last > 0) {
          say(fleet, known.get(known.size() - 1 - argument % last), step % 10 == 6, now);
        }
      }
    }
  }

  private static void say(ChoiceFleet fleet, Known lease, boolean renew, long now) {
    Kind expected = lease.expected(now);
    if (renew) {
      Duration ttl = Duration.ofSeconds(1);
      assertThat(fleet.choices.renew(lease.id, ttl).kind()).isEqualTo(expected);
      if (expected == Kind.DONE) {
        lease.expiresAt = now + ttl.toNanos();
      }
    } else {
      assertThat(fleet.choices.settle(lease.id, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
          .isEqualTo(expected);
      lease.settled |= expected == Kind.DONE;
    }
  }

  /** Sizes of rings of one block and of several. */
  private static final List<Integer> LIMITS = List.of(1, 3, 40, 2_000);

  @Property(tries = 200)
  void leasesOutliveOtherLimits(
      @ForAll @Size(max = 200) List<@IntRange(max = 9_999) Integer> steps) {
    Duration most = Duration.ofSeconds(100);
    ChoiceFleet fleet =
        new ChoiceFleet("least_load", 3, new ExternalLeaseSettings(MOST, most, most, most));
    List<String> held = new ArrayList<>();
    int limit = MOST;
    for (int step : steps) {
      int argument = step / 10;
      switch (step % 10) {
        case 0 -> {
          limit = LIMITS.get(argument % LIMITS.size());
          fleet.choices.use(new ExternalLeaseSettings(limit, most, most, most));
        }
        case 1, 2, 3, 4, 5 -> {
          for (int i = 0; i < argument % 50; i++) {
            boolean full = held.size() >= limit;
            if (fleet.choices.choose(Requests.bare(), most) instanceof Choice.Leased lease) {
              assertThat(full).isFalse();
              held.add(lease.lease());
            } else {
              assertThat(full).isTrue();
            }
          }
        }
        case 6 -> fleet.choices.expireDue();
        default -> {
          for (int i = 0; i < argument % 50 && !held.isEmpty(); i++) {
            String lease = held.remove(argument % held.size());
            assertThat(fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
                .isEqualTo(Kind.DONE);
          }
        }
      }
      assertThat(fleet.choices.open()).isEqualTo(held.size());
      assertThat(fleet.inFlight()).isEqualTo(held.size());
    }
    fleet.pass(most);
    assertThat(fleet.choices.expireDue()).isEqualTo(held.size());
    assertThat(fleet.choices.open()).isZero();
  }

  @Property(tries = 5)
  void concurrentSettlingRenewingAndExpiringEndEachLeaseOnce(@ForAll long seed) throws Exception {
    Duration most = Duration.ofSeconds(100);
    ChoiceFleet fleet =
        new ChoiceFleet("random", 4, new ExternalLeaseSettings(512, most, most, most));
    AtomicInteger chosen = new AtomicInteger();
    AtomicInteger settled = new AtomicInteger();
    AtomicBoolean running = new AtomicBoolean(true);
    CountDownLatch start = new CountDownLatch(1);
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Future<?>> planes = new ArrayList<>();
      for (int plane = 0; plane < 4; plane++) {
        SplittableRandom random = new SplittableRandom(seed + plane);
        planes.add(
            threads.submit(
                () -> {
                  start.await();
                  for (int i = 0; i < 2_000; i++) {
                    plane(fleet, random, chosen, settled);
                  }
                  return null;
                }));
      }
      Future<?> clock =
          threads.submit(
              () -> {
                while (running.get()) {
                  fleet.pass(Duration.ofMillis(1));
                  fleet.choices.expireDue();
                }
              });
      Future<?> limits =
          threads.submit(
              () -> {
                for (int i = 0; running.get(); i++) {
                  fleet.choices.use(
                      new ExternalLeaseSettings(LIMITS.get(i % LIMITS.size()), most, most, most));
                  Thread.onSpinWait();
                }
              });
      start.countDown();
      for (Future<?> each : planes) {
        each.get();
      }
      running.set(false);
      clock.get();
      limits.get();
    }
    fleet.pass(most);
    fleet.choices.expireDue();

    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.choices.open()).isZero();
    // A choice that found the maximum reached afterwards was given back.
    assertThat(fleet.settled).hasSize(fleet.routed);
    assertThat(fleet.routed).isGreaterThanOrEqualTo(chosen.get());
    assertThat(fleet.choices.tally().succeeded()).isEqualTo(settled.get());
    assertThat(fleet.choices.tally().expired()).isEqualTo(chosen.get() - settled.get());
  }

  private static void plane(
      ChoiceFleet fleet, SplittableRandom random, AtomicInteger chosen, AtomicInteger settled) {
    Duration ttl = Duration.ofMillis(1 + random.nextInt(3));
    if (!(fleet.choices.choose(Requests.bare(), ttl) instanceof Choice.Leased held)) {
      return;
    }
    chosen.incrementAndGet();
    if (random.nextBoolean()) {
      fleet.choices.renew(held.lease(), ttl);
    }
    if (random.nextInt(4) > 0
        && fleet.choices.settle(held.lease(), Outcome.SUCCEEDED, TokenCounts.NONE).kind()
            == Kind.DONE) {
      settled.incrementAndGet();
    }
  }
}
