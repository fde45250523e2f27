package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class CacheMemoryTest {
  /** The caches are larger than the memory of their models. */
  private static final CostSettings SMALL =
      CostSettings.DEFAULTS.withMaxBytes(2 << 20).withKvTokens(1_000_000_000);

  private final TestFleet fleet = TestFleet.of(1);
  private final CostLearner learner = new CostLearner(SMALL, fleet.clock::nanos, 16_384);
  private final long whole = learner.caches().memory().left();
  private long fresh;

  private Worker join() {
    Worker worker = fleet.add(TestFleet.spec("late" + fresh++, TestFleet.MODEL));
    learner.adopt(fleet.pool());
    return worker;
  }

  private static RoutingRequest request(PrefixBlocks prompt) {
    return RoutingRequest.builder().prefix(prompt).build();
  }

  private void end(RoutingRequest request, Lease lease) {
    lease.reported(new Usage(160, 0, 1));
    learner.ended(request, lease, Outcome.SUCCEEDED);
    lease.succeeded();
  }

  private PrefixBlocks serve(Worker worker) {
    PrefixBlocks prompt = Prompt.of(fresh++, 10);
    Lease lease = fleet.lease(worker);
    learner.placed(request(prompt), lease);
    end(request(prompt), lease);
    return prompt;
  }

  private void serve(Worker worker, int prompts) {
    for (int i = 0; i < prompts; i++) {
      serve(worker);
    }
  }

  private boolean kept(PrefixBlocks prompt) {
    return learner.index().match(BlockScale.of(prompt).coarse()) > 0;
  }

  private long bytes(Worker worker) {
    for (WorkerModel model : learner.adopt(fleet.pool())) {
      if (model.worker() == worker) {
        return model.memory().bytes();
      }
    }
    throw new AssertionError(worker);
  }

  private void assertBounded() {
    long sum = fleet.pool().workers().stream().mapToLong(this::bytes).sum();
    assertThat(learner.caches().memory().left()).isBetween(0L, whole).isEqualTo(whole - sum);
  }

  @Test
  void aWorkerThatJoinsAtFullMemoryKeepsItsPrompts() {
    Worker first = fleet.worker(0);
    learner.adopt(fleet.pool());
    serve(first, 10_000);
    long all = bytes(first);
    assertThat(all).isGreaterThan(400_000);
    Worker second = join();
    for (int i = 0; i < 500; i++) {
      assertThat(kept(serve(second))).isTrue();
    }
    serve(second, 10_000);

    assertThat(bytes(second)).isBetween(all * 4 / 10, all * 6 / 10);
    assertThat(bytes(first)).isBetween(all * 4 / 10, all * 6 / 10);
    assertThat(kept(serve(first))).isTrue();
    assertBounded();
  }

  @Test
  void memoryThatNobodyElseNeedsIsTaken() {
    Worker first = fleet.worker(0);
    join();
    join();
    serve(first, 10_000);

    assertThat(bytes(first)).isGreaterThan(380_000);
  }

  @Test
  void theMemoryOfALeavingWorkerIsForTheOthers() {
    Worker first = fleet.worker(0);
    Worker second = join();
    serve(second, 10_000);
    serve(first, 10_000);
    long shared = bytes(first);
    fleet.fleet.remove(second.id());
    learner.forget(second);
    serve(first, 10_000);

    assertThat(bytes(first)).isGreaterThan(shared * 3 / 2);
  }

  /** Prompts in flight keep their memory; ended ones give all of it back. */
  @Test
  void theBoundHoldsAtAnyLoad() {
    SplittableRandom random = new SplittableRandom(3);
    List<Worker> workers = new ArrayList<>(List.of(fleet.worker(0)));
    List<RoutingRequest> requests = new ArrayList<>();
    List<Lease> leases = new ArrayList<>();
    learner.adopt(fleet.pool());
    serve(workers.getFirst(), 10_000);
    for (int i = 0; i < 20_000; i++) {
      if (i % 1000 == 0) {
        workers.add(join());
      }
      if (requests.size() < 500 && random.nextInt(5) > 1) {
        Worker worker = workers.get(random.nextInt(1 + random.nextInt(workers.size())));
        RoutingRequest request =
            request(Prompt.of(random.nextInt(3000), 1 + random.nextInt(30), fresh++, 5));
        Lease lease = fleet.lease(worker);
        learner.placed(request, lease);
        requests.add(request);
        leases.add(lease);
      } else if (!requests.isEmpty()) {
        int which = random.nextInt(requests.size());
        end(requests.remove(which), leases.remove(which));
      }
      if (i % 100 == 0) {
        assertBounded();
      }
    }
    for (Worker worker : workers) {
      assertThat(kept(serve(worker))).isTrue();
    }
    for (Worker worker : workers) {
      fleet.fleet.remove(worker.id());
      learner.forget(worker);
    }
    assertThat(learner.caches().memory().left()).isEqualTo(whole);
  }
}
