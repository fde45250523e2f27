package io.pointsman.engine.policy.tier;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The table compared with lists that are searched linearly. */
class AdapterTableTest {
  private static final int PER_WORKER = 3;
  private static final int IN_ALL = 8;
  private static final int STEPS = 4_000;

  private final TestFleet fleet = TestFleet.of(4);
  private final AdapterTable table = new AdapterTable(new AdapterSettings(0, PER_WORKER, IN_ALL));

  /** Time of the last request on each worker, for each adapter. */
  private final Map<String, Map<Worker, Integer>> model = new LinkedHashMap<>();

  /** Time of the last request on any worker, for each adapter. */
  private final Map<String, Integer> askedAt = new HashMap<>();

  private static RoutingRequest request(String adapter) {
    return RoutingRequest.builder().model(adapter).build();
  }

  private void placed(String adapter, Worker worker) {
    table.placed(request(adapter), fleet.lease(worker));
  }

  private void expect(String adapter, Worker worker, int now) {
    Map<Worker, Integer> asked = model.get(adapter);
    if (asked == null || !asked.containsKey(worker)) {
      List<String> own = new ArrayList<>();
      model.forEach(
          (name, workers) -> {
            if (workers.containsKey(worker)) {
              own.add(name);
            }
          });
      if (own.size() >= PER_WORKER) {
        own.sort(Comparator.comparingInt(each -> at(each, worker)));
        unexpect(own.getFirst(), worker);
      }
      if (!model.containsKey(adapter) && model.size() >= IN_ALL) {
        List<String> all = new ArrayList<>(model.keySet());
        all.sort(Comparator.comparingInt(each -> askedAt.getOrDefault(each, -1)));
        model.remove(all.getFirst());
      }
    }
    model.computeIfAbsent(adapter, _ -> new HashMap<>()).put(worker, now);
    askedAt.put(adapter, now);
  }

  private int at(String adapter, Worker worker) {
    return model.getOrDefault(adapter, Map.of()).getOrDefault(worker, -1);
  }

  private void unexpect(String adapter, Worker worker) {
    Map<Worker, Integer> asked = model.get(adapter);
    if (asked != null && asked.remove(worker) != null && asked.isEmpty()) {
      model.remove(adapter);
    }
  }

  @Test
  void smallerLimitsRemoveTheLeastRecentlyRequested() {
    Worker first = fleet.worker(0);
    Worker second = fleet.worker(1);
    placed("base:a", first);
    placed("base:b", first);
    placed("base:c", first);
    placed("base:d", second);

    table.use(new AdapterSettings(0, 2, IN_ALL));
    assertThat(table.holders("base:a")).isEmpty();
    assertThat(table.holders("base:b")).containsExactly(first);
    assertThat(table.size()).isEqualTo(3);

    table.use(new AdapterSettings(0, 2, 1));
    assertThat(table.holders("base:c")).isEmpty();
    assertThat(table.holders("base:d")).containsExactly(second);
    assertThat(table.size()).isEqualTo(1);
  }

  @Test
  void leastRecentlyRequestedAdaptersAreRemoved() {
    Random random = new Random(5);
    Set<Integer> sizes = new HashSet<>();
    for (int step = 0; step < STEPS; step++) {
      String adapter = "base:a" + random.nextInt(14);
      Worker worker = fleet.worker(random.nextInt(4));
      int kind = random.nextInt(20);
      if (kind == 0) {
        table.ended(request(adapter), fleet.lease(worker), new Outcome.Failed(Failure.ERROR));
        unexpect(adapter, worker);
      } else if (kind == 1) {
        table.forget(worker);
        Set.copyOf(model.keySet()).forEach(each -> unexpect(each, worker));
      } else {
        placed(adapter, worker);
        expect(adapter, worker, step);
      }
      sizes.add(table.size());
      assertSame(step);
    }
    assertThat(sizes).as("the bound in all is reached").contains(IN_ALL);
  }

  private void assertSame(int step) {
    assertThat(table.size()).as("step %d", step).isEqualTo(model.size());
    for (int i = 0; i < 14; i++) {
      String adapter = "base:a" + i;
      assertThat(table.holders(adapter))
          .as("step %d, %s", step, adapter)
          .isEqualTo(model.getOrDefault(adapter, Map.of()).keySet());
    }
    for (Worker worker : fleet.fleet.snapshot().workers()) {
      long own = model.values().stream().filter(asked -> asked.containsKey(worker)).count();
      assertThat(table.count(worker)).isEqualTo(own + 1);
    }
  }

  @Test
  void overlongIdIsNotStored() {
    String longest = "base:" + "a".repeat(RoutingRequest.LONGEST_KEPT - 5);
    placed(longest + "a", fleet.worker(0));
    assertThat(table.size()).isZero();

    placed(longest, fleet.worker(0));
    assertThat(table.size()).isEqualTo(1);
  }

  @Test
  void theSetIsTheSameUntilItChanges() {
    placed("base:a", fleet.worker(0));
    Set<Worker> holders = table.holders("base:a");
    placed("base:a", fleet.worker(0));
    placed("base:b", fleet.worker(1));
    assertThat(table.holders("base:a")).isSameAs(holders);

    placed("base:a", fleet.worker(1));
    assertThat(table.holders("base:a")).hasSize(2);
  }
}
