package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.CacheMemory;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import io.pointsman.engine.policy.cost.cache.FleetCaches;
import io.pointsman.engine.policy.cost.cache.KindCache;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class WorkerModelTest {
  private final TestFleet fleet = TestFleet.of(1);
  private final PrefixIndex index = new PrefixIndex(1 << 20, 64);
  private final KvIndex announced = new KvIndex(1 << 20, 64, fleet.clock::nanos);

  /** A model of the only worker with a memory limit for its cache model. */
  private WorkerModel model(long bytes) {
    FleetCaches caches =
        new FleetCaches(
            index,
            new CacheMemory(bytes),
            new KvKnowledge(announced, TokenKeys.NONE),
            KvCredits.DEFAULTS);
    PoolModel pool = new PoolModel(8192, 0.2, 400_000, null);
    KindModel kind = new KindModel(WorkerKind.of(fleet.worker(0)), pool, new KindCache());
    return new WorkerModel(
        fleet.worker(0), kind, caches, PlacementObserver.NONE, 10_000_000, fleet.now());
  }

  private static void place(WorkerModel model, Lease lease, PrefixBlocks prompt) {
    RoutingRequest request = RoutingRequest.builder().prefix(prompt).build();
    model.placed(request, lease, prompt.tokens(), CachedPrefix.NOT_ANNOUNCED);
  }

  private Lease placed(WorkerModel model, PrefixBlocks prompt) {
    Lease lease = fleet.lease(fleet.worker(0));
    place(model, lease, prompt);
    return lease;
  }

  private double ahead(WorkerModel model) {
    return model.state(fleet.now()).prefill().tokens();
  }

  /** Blocks in the index while a prompt is in flight, and after it was given up. */
  private int[] indexed(WorkerModel model, PrefixBlocks prompt) {
    PrefixBlocks key = BlockScale.of(prompt).coarse();
    Lease lease = fleet.lease(fleet.worker(0));
    place(model, lease, prompt);
    int whileInFlight = index.match(key);
    model.ended(lease, Outcome.IGNORED, fleet.now());
    return new int[] {whileInFlight, index.match(key)};
  }

  @Test
  void memoryIsKnownToBecomeFreeWhereverTheClockBegins() {
    fleet.clock.advance(Duration.ofHours(-4));
    assertThat(fleet.now()).isNegative();
    WorkerModel model = model(1 << 20);
    double before = model.state(fleet.now()).tokensPerMilli();
    indexed(model, Prompt.of(1, 1000));

    assertThat(model.state(fleet.now()).tokensPerMilli()).isPositive().isEqualTo(before);
  }

  @Test
  void theIndexMatchesTheCapacityOfTheCacheModel() {
    PrefixBlocks prompt = Prompt.of(1, 40_000);
    int whole = BlockScale.of(prompt).coarse().count();
    assertThat(indexed(model(1 << 20), prompt)).containsExactly(whole, 0);

    // Four other prompts leave memory for a part of it.
    WorkerModel narrow = model(CacheMemory.PORTION_BYTES);
    for (int i = 2; i < 6; i++) {
      place(narrow, fleet.lease(fleet.worker(0)), Prompt.of(i, 40_000));
    }
    int[] part = indexed(narrow, prompt);
    assertThat(part[0]).isBetween(1, whole - 1);
    assertThat(part[1]).as("nothing stays for good").isZero();
  }

  @Test
  void workOfOneThatIsGivenUpIsItsSiblings() {
    WorkerModel model = model(1 << 20);
    Lease first = placed(model, Prompt.of(1, 1000));
    placed(model, Prompt.of(1, 1000));
    Lease third = placed(model, Prompt.of(1, 1000));
    assertThat(ahead(model)).isEqualTo(16_002);

    model.ended(first, Outcome.IGNORED, fleet.now());
    assertThat(ahead(model)).isEqualTo(16_001);
    model.ended(third, Outcome.IGNORED, fleet.now());
    assertThat(ahead(model)).as("one of them is to compute it").isEqualTo(16_000);
  }

  @Test
  void siblingsComputeTheSharedPartOfAnAbortedPrompt() {
    WorkerModel model = model(1 << 20);
    Lease first = placed(model, Prompt.of(1, 1024));
    placed(model, Prompt.of(1, 256, 2, 64));
    placed(model, Prompt.of(1, 512, 3, 64));
    placed(model, Prompt.of(4, 64));
    assertThat(ahead(model)).isEqualTo((1024 + 64 + 64 + 64) * 16);

    model.ended(first, Outcome.IGNORED, fleet.now());
    assertThat(ahead(model)).isEqualTo((320 + 320 + 64) * 16);
  }

  @Test
  void nobodyComputesTheRestOfAThirdRequest() {
    WorkerModel model = model(1 << 20);
    Lease first = placed(model, Prompt.of(1, 1000));
    model.ended(placed(model, Prompt.of(1, 256)), Outcome.SUCCEEDED, fleet.now());
    placed(model, Prompt.of(1, 1000));

    model.ended(first, Outcome.IGNORED, fleet.now());
    assertThat(ahead(model)).isEqualTo((1000 - 256) * 16);
  }

  @Test
  void workOfOneThatIsComputedIsNobodys() {
    WorkerModel model = model(1 << 20);
    Lease first = placed(model, Prompt.of(1, 1000));
    placed(model, Prompt.of(1, 1000));

    model.ended(first, Outcome.SUCCEEDED, fleet.now());
    assertThat(ahead(model)).isEqualTo(1);
  }

  /** Otherwise nobody would ever seem to wait while one worker of many is cordoned. */
  @Test
  void aWorkerThatIsOutIsNotFreeForWaitingRequests() {
    WorkerModel model = model(1 << 20);
    PoolModel pool = model.kind().pool();
    double idle = pool.price();
    pool.workers(1);
    pool.waiting(3, 1);
    assertThat(pool.price()).as("this worker is free").isEqualTo(idle);

    fleet.worker(0).cordon(true);
    model.noticeService();
    assertThat(pool.price()).as("two wait for the other worker").isEqualTo(idle + 2);

    fleet.worker(0).cordon(false);
    model.noticeService();
    assertThat(pool.price()).isEqualTo(idle);

    fleet.worker(0).cordon(true);
    model.noticeService();
    model.close();
    assertThat(pool.price()).as("it counts once").isEqualTo(idle + 2);
  }

  /** The price includes only losses that a larger cache would avoid. */
  @Test
  void promptsLostInARestartDoNotMakeWorkDearer() {
    WorkerModel model = model(1 << 20);
    double before = model.kind().pool().price();
    model.ended(placed(model, Prompt.of(1, 1000)), Outcome.SUCCEEDED, fleet.now());
    announced.restarted(fleet.worker(0), 0, fleet.now());
    model.noticeClears(fleet.now());
    model.ended(placed(model, Prompt.of(1, 1000)), Outcome.SUCCEEDED, fleet.now());

    assertThat(model.kind().pool().price()).isEqualTo(before);
  }
}
