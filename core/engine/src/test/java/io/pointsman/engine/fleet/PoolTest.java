package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PoolTest {
  private final TestFleet fleet = TestFleet.of(8);
  private final Pool pool = fleet.pool();

  private Map<String, Integer> count(int times, Supplier<@Nullable Worker> pick) {
    Map<String, Integer> counts = new HashMap<>();
    for (int i = 0; i < times; i++) {
      Worker worker = pick.get();
      counts.merge(worker == null ? "nobody" : worker.id(), 1, Integer::sum);
    }
    return counts;
  }

  private Map<String, Integer> leastLoaded(int times, List<Worker> tried) {
    return count(times, () -> pool.leastLoaded(fleet.now(), tried, fleet.random));
  }

  @Test
  void leastLoadedIsUniformAmongTies() {
    fleet.load(fleet.worker(0), 2);
    fleet.load(fleet.worker(3), 1);
    Map<String, Integer> counts = leastLoaded(6000, List.of());

    assertThat(counts).containsOnlyKeys("w1", "w2", "w4", "w5", "w6", "w7");
    assertThat(counts.values()).allMatch(n -> n > 850 && n < 1150);
  }

  @Test
  void leastLoadedSkipsIneligibleAndTriedWorkers() {
    for (int i = 4; i < 8; i++) {
      fleet.kill(fleet.worker(i));
    }
    fleet.load(fleet.worker(0), 1);
    fleet.load(fleet.worker(3), 5);

    assertThat(leastLoaded(50, List.of(fleet.worker(1), fleet.worker(2)))).containsOnlyKeys("w0");
    assertThat(leastLoaded(50, pool.workers())).containsOnlyKeys("nobody");
  }

  @Test
  void leastLoadedComparesLimitedWorkersByLoadToo() {
    TestFleet limited = new TestFleet();
    Worker a = limited.add(TestFleet.spec("a").withMaxInFlight(10));
    Worker b = limited.add(TestFleet.spec("b").withMaxInFlight(2));
    limited.load(a, 3);
    limited.load(b, 1);
    assertThat(limited.pool().leastLoaded(limited.now(), List.of(), limited.random)).isSameAs(b);

    limited.load(b, 1);
    assertThat(limited.pool().leastLoaded(limited.now(), List.of(), limited.random)).isSameAs(a);
  }

  @Test
  void randomIsUniformEvenIfMostAreIneligible() {
    for (int i = 0; i < 6; i++) {
      fleet.kill(fleet.worker(i));
    }
    Map<String, Integer> counts =
        count(2000, () -> pool.random(fleet.now(), List.of(), fleet.random));

    assertThat(counts).containsOnlyKeys("w6", "w7");
    assertThat(counts.values()).allMatch(n -> n > 850 && n < 1150);
  }

  @Test
  void emptyPoolHasNoWorker() {
    Pool empty = new TestFleet().pool();

    assertThat(empty.leastLoaded(0, List.of(), fleet.random)).isNull();
    assertThat(empty.random(0, List.of(), fleet.random)).isNull();
    assertThat(empty.eligible(0, List.of())).isZero();
  }

  @Test
  void loadIsReportedForEligibleWorkersOnly() {
    fleet.load(fleet.worker(2), 3);
    fleet.kill(fleet.worker(5));

    assertThat(pool.loadIfEligible(2, fleet.now(), List.of())).isEqualTo(3);
    assertThat(pool.loadIfEligible(5, fleet.now(), List.of())).isEqualTo(Pool.NOT_ELIGIBLE);
    assertThat(pool.loadIfEligible(2, fleet.now(), List.of(fleet.worker(2))))
        .isEqualTo(Pool.NOT_ELIGIBLE);
    assertThat(pool.eligible(fleet.now(), List.of(fleet.worker(2)))).isEqualTo(6);
    assertThat(pool.inFlight(2)).isEqualTo(3);
  }

  @Test
  void busyWorkersServeThoughTheyAreNotEligible() {
    fleet.worker(1).rest(Duration.ofSeconds(9).toNanos());
    fleet.worker(2).rest(Duration.ofSeconds(9).toNanos());
    fleet.kill(fleet.worker(5));

    assertThat(pool.eligible(fleet.now(), List.of())).isEqualTo(5);
    assertThat(pool.serving(fleet.now(), List.of())).isEqualTo(7);
    assertThat(pool.serving(fleet.now(), List.of(fleet.worker(1), fleet.worker(3)))).isEqualTo(5);
  }

  /** One more request would turn its count into a mark. */
  @Test
  void aWorkerWithTheLargestCountIsEligibleNowhere() {
    LoadBoard board = new LoadBoard(1);
    EjectionLimit none =
        new EjectionLimit(
            1,
            () -> {
              throw new AssertionError("without a limit nobody reads the fleet");
            });
    Worker worker =
        new Worker(TestFleet.spec("a"), 0, board, FleetSettings.DEFAULTS, none, () -> 0);
    worker.probed(true);
    Pool pool = new Pool(List.of(worker), board);
    for (int load = 0; load < LoadBoard.MAX_IN_FLIGHT; load++) {
      int _ = board.enterIf(0, load);
    }

    assertThat(worker.eligible(0)).isFalse();
    assertThat(pool.loadIfEligible(0, 0, List.of())).isEqualTo(Pool.NOT_ELIGIBLE);
    assertThat(pool.loadRange(0, List.of())).isNull();
    assertThat(worker.merelyBusy(0)).isTrue();
    board.leave(0);
    assertThat(worker.eligible(0)).isTrue();
    assertThat(pool.loadIfEligible(0, 0, List.of())).isEqualTo(LoadBoard.MAX_IN_FLIGHT - 1);
  }
}
