package io.pointsman.engine.kv;

import static io.pointsman.engine.kv.Announcer.batch;
import static io.pointsman.engine.kv.Announcer.branch;
import static io.pointsman.engine.kv.Announcer.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KvIndexTest {
  private static final KvCredits CREDITS = KvCredits.DEFAULTS;

  private final TestFleet fleet = TestFleet.of(6);
  private final KvIndex index = new KvIndex(8 << 20, 64, fleet.clock::nanos);
  private final Worker first = live(fleet.worker(0));
  private final Worker second = live(fleet.worker(1));
  private final Announcer engine = new Announcer(16, 1);
  private final Announcer other = new Announcer(16, 2);

  private Worker live(Worker worker) {
    index.live(worker, 0, true);
    return worker;
  }

  private static PrefixBlocks key(int... ids) {
    return TokenIds.key(77, ids, ids.length, ids.length);
  }

  private int device(Worker worker, int... ids) {
    return index.hits(key(ids), TestFleet.MODEL).device(worker.slot());
  }

  private double credit(Worker worker, int... ids) {
    return index.hits(key(ids), TestFleet.MODEL).credit(worker.slot(), CREDITS);
  }

  @Test
  void promptMatchesAnnouncedBlocksUnderAnyModelName() {
    int[] prompt = prompt(1, 100);
    index.apply(first, 0, batch(engine.stored(prompt)));

    assertThat(device(first, prompt)).isEqualTo(6);
    assertThat(device(second, prompt)).isZero();
    assertThat(device(first, branch(prompt, 50, prompt(2, 50)))).isEqualTo(3);
    assertThat(device(first, prompt(3, 100))).isZero();
    PrefixBlocks nameless = TokenIds.key(0, prompt, prompt.length, prompt.length);
    assertThat(index.hits(nameless, null).device(first.slot())).isEqualTo(6);
  }

  @Test
  void lastTokenIsAlwaysComputed() {
    int[] prompt = prompt(1, 64);
    index.apply(first, 0, batch(engine.stored(prompt)));

    assertThat(device(first, prompt)).isEqualTo(3);
    assertThat(credit(first, prompt)).isEqualTo(48);
    assertThat(device(first, branch(prompt, 64, new int[] {5}))).isEqualTo(4);
  }

  @Test
  void textsAndSaltedPromptsMatchNothing() {
    int[] prompt = prompt(1, 100);
    index.apply(first, 0, batch(engine.stored(prompt)));
    PrefixBlocks known = key(prompt);
    PrefixBlocks salted =
        new PrefixBlocks(known.hashes(), known.count(), known.length(), 16, known.tokens());

    assertThat(index.hits(salted, TestFleet.MODEL).device(first.slot())).isZero();
  }

  @Test
  void blocksAreChainedToEarlierAnnouncedBlocks() {
    int[] prompt = prompt(1, 160);
    int[] half = Arrays.copyOf(prompt, 80);
    index.apply(first, 0, batch(engine.stored(half)));
    index.apply(first, 0, batch(engine.stored(null, prompt, 5, KvTier.DEVICE)));
    index.apply(second, 0, batch(other.stored(null, prompt, 5, KvTier.DEVICE)));

    assertThat(device(first, prompt)).isEqualTo(9);
    assertThat(device(second, prompt)).as("what its first block follows is not known").isZero();
    assertThat(index.deviceTokens(second)).isEqualTo(80);
  }

  @Test
  void blocksAfterARemovedBlockMatchAgainWhenItReturns() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(prompt)));
    KvEvent third = new KvEvent.Removed(new long[] {engine.id(null, prompt, 3)}, KvTier.DEVICE);
    index.apply(first, 0, batch(third));
    assertThat(device(first, prompt)).isEqualTo(2);

    int[] head = Arrays.copyOf(prompt, 48);
    index.apply(first, 0, batch(engine.stored(null, head, 2, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isEqualTo(10);

    index.apply(first, 0, batch(engine.removed(prompt, 4, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isEqualTo(4);
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isZero();
    assertThat(index.blocks()).isZero();
    assertThat(index.deviceTokens(first)).isZero();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4, 8, 16, 32, 64, 128})
  void blocksOfOtherSizesMatchTheRoutersBlocks(int size) {
    Announcer sized = new Announcer(size, 1);
    int[] prompt = prompt(1, 513);
    index.apply(first, 0, batch(sized.stored(prompt)));
    assertThat(device(first, prompt)).isEqualTo(32);

    int[] longer = branch(prompt, 512, prompt(2, 257));
    index.apply(first, 0, batch(sized.stored(null, longer, 512 / size, KvTier.DEVICE)));
    assertThat(device(first, longer)).isEqualTo(48);

    index.apply(first, 0, batch(sized.removed(longer, 256 / size, KvTier.DEVICE)));
    assertThat(device(first, longer)).isEqualTo(16);
  }

  @Test
  void onlyWholeLargerBlocksCount() {
    Announcer large = new Announcer(64, 1);
    int[] prompt = prompt(1, 257);
    index.apply(first, 0, batch(large.stored(prompt)));

    assertThat(device(first, branch(prompt, 112, prompt(2, 100)))).isEqualTo(4);
    assertThat(device(first, branch(prompt, 48, prompt(2, 100)))).isZero();
  }

  @Test
  void tokensOfBlocksOfOddSizesAreCarriedOver() {
    Announcer odd = new Announcer(20, 1);
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(odd.stored(prompt)));

    assertThat(device(first, prompt)).isEqualTo(10);
    index.apply(first, 0, batch(odd.removed(prompt, 7, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isEqualTo(7);
  }

  @Test
  void adaptersMatchTheirOwnBlocksOnly() {
    int[] prompt = prompt(1, 100);
    index.apply(first, 0, batch(engine.stored("lora", prompt, 0, KvTier.DEVICE)));
    index.apply(second, 0, batch(other.stored(prompt)));

    assertThat(device(first, prompt)).isZero();
    assertThat(device(second, prompt)).isEqualTo(6);
    KvHits adapted = index.hits(key(prompt), "lora");
    assertThat(adapted.device(first.slot())).isEqualTo(6);
    assertThat(adapted.device(second.slot())).isZero();
  }

  @Test
  void longestContinuationOnAnotherTierIsCredited() {
    int[] prompt = prompt(1, 161);
    int[] head = Arrays.copyOf(prompt, 48);
    int[] middle = Arrays.copyOf(prompt, 96);
    index.apply(
        first,
        0,
        batch(
            engine.stored(head),
            engine.stored(null, middle, 0, KvTier.HOST),
            engine.stored(null, prompt, 6, KvTier.DISK)));
    assertThat(credit(first, prompt)).isEqualTo((3 + 3 * 0.8) * 16);

    index.apply(first, 0, batch(engine.stored(null, prompt, 2, KvTier.DISK)));
    assertThat(credit(first, prompt)).as("longer counts").isEqualTo((3 + 7 * 0.3) * 16);

    index.apply(first, 0, batch(engine.stored(null, prompt, 0, KvTier.EXTERNAL)));
    assertThat(credit(first, prompt)).as("dearer of equals").isEqualTo((3 + 7 * 0.6) * 16);

    index.apply(first, 0, batch(engine.removed(prompt, 3, KvTier.EXTERNAL)));
    index.apply(first, 0, batch(engine.removed(prompt, 4, KvTier.DISK)));
    index.apply(first, 0, batch(engine.removed(prompt, 3, KvTier.HOST)));
    assertThat(credit(first, prompt)).isEqualTo((3 + 1 * 0.3) * 16);
  }

  @Test
  void blocksNotOnTheDeviceCountByTheirTierOnly() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(null, prompt, 0, KvTier.HOST)));

    assertThat(device(first, prompt)).isZero();
    assertThat(credit(first, prompt)).isEqualTo(10 * 0.8 * 16);
  }

  @Test
  void blocksWithoutTokensAreKnownAfterAnEarlierCompleteEvent() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(prompt)));
    long[] ids = engine.ids(null, prompt, 0);
    KvEvent offloaded = new KvEvent.Stored(ids, null, new int[0], 16, KvTier.HOST, null, true);
    index.apply(first, 0, batch(offloaded, engine.removed(prompt, 0, KvTier.DEVICE)));

    assertThat(credit(first, prompt)).isEqualTo(10 * 0.8 * 16);
  }

  @Test
  void blocksThatDependOnMoreThanTokensOnlyCountAsMemory() {
    int[] prompt = prompt(1, 160);
    KvEvent image =
        new KvEvent.Stored(
            engine.ids(null, prompt, 0), null, prompt, 16, KvTier.DEVICE, null, false);
    index.apply(first, 0, batch(image));

    assertThat(device(first, prompt)).isZero();
    assertThat(index.deviceTokens(first)).isEqualTo(160);
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    assertThat(index.deviceTokens(first)).isZero();
  }

  @Test
  void ranksAreKeptApartAndTheBestOfThemCounts() {
    int[] prompt = prompt(1, 161);
    int[] half = Arrays.copyOf(prompt, 81);
    index.live(first, 1, true);
    index.live(first, 3, true);
    index.apply(first, 1, batch(engine.stored(half)));
    index.apply(first, 3, batch(engine.stored(prompt)));
    assertThat(device(first, prompt)).isEqualTo(10);

    index.reset(first, 3, KvFeed.Cause.MISSED);
    assertThat(device(first, prompt)).isEqualTo(5);
    index.forget(first);
    assertThat(device(first, prompt)).isZero();
    index.live(second, 2, true);
    index.apply(second, 2, batch(other.stored(prompt)));
    assertThat(device(second, prompt)).isEqualTo(10);
  }

  @Test
  void workerIsCompleteWhenEachOfItsRanksIs() {
    index.live(first, 1, false);
    assertThat(index.live(first.slot())).isFalse();
    assertThat(index.liveWorkers()).isEqualTo(1);

    index.live(first, 1, true);
    assertThat(index.live(first.slot())).isTrue();
    index.live(first, 1, false);
    assertThat(index.live(first.slot())).isFalse();
    index.reset(first, 1, KvFeed.Cause.GONE);
    assertThat(index.live(first.slot())).as("the rank is gone").isTrue();
    index.reset(first, 0, KvFeed.Cause.GONE);
    assertThat(index.live(first.slot())).as("so is the other").isFalse();
  }

  @Test
  void suspendedSourcesDoNotCountUntilTheyAreBack() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(prompt)));
    index.live(first, 0, false);
    assertThat(index.live(first.slot())).isFalse();
    assertThat(device(first, prompt)).isZero();

    index.live(first, 0, true);
    assertThat(device(first, prompt)).isEqualTo(10);
    assertThat(index.live(fleet.worker(2).slot())).isFalse();
    assertThat(index.liveWorkers()).isEqualTo(2);
  }

  @Test
  void clearedAndResetSourcesHoldNothingAndCanBeFilledAgain() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(prompt), new KvEvent.Cleared()));
    assertThat(device(first, prompt)).isZero();
    assertThat(index.clears(first.slot())).isEqualTo(1);

    index.apply(first, 0, batch(engine.stored(prompt)));
    assertThat(device(first, prompt)).isEqualTo(10);
    index.reset(first, 0, KvFeed.Cause.MISSED);
    assertThat(device(first, prompt)).isZero();
    assertThat(index.clears(first.slot())).as("it may hold it still").isEqualTo(1);
    assertThat(index.live(first.slot())).as("completeness is said apart").isTrue();
  }

  @Test
  void departedWorkerIsForgottenAndItsEventsAreIgnored() {
    int[] prompt = prompt(1, 161);
    index.apply(first, 0, batch(engine.stored(prompt)));
    fleet.fleet.remove(first.id());
    index.forget(first);
    index.live(first, 0, true);
    index.apply(first, 0, batch(engine.stored(prompt)));
    assertThat(device(first, prompt)).isZero();
    assertThat(index.blocks()).isZero();

    Worker heir = live(fleet.add(TestFleet.spec("heir", TestFleet.MODEL)));
    assertThat(heir.slot()).as("the case that matters").isEqualTo(first.slot());
    assertThat(device(heir, prompt)).isZero();
    index.apply(heir, 0, batch(other.stored(prompt)));
    assertThat(device(heir, prompt)).isEqualTo(10);
  }

  /** An engine with room for two prompts of 1,600 tokens receives one after the other. */
  private void serve(int first, int last) {
    for (int n = first; n <= last; n++) {
      if (n > 2) {
        index.apply(this.first, 0, batch(engine.removed(prompt(n - 2, 1600), 0, KvTier.DEVICE)));
      }
      index.apply(this.first, 0, batch(engine.stored(prompt(n, 1600))));
    }
  }

  @Test
  void capacityIsTheStoredTokensOnceAsManyHaveLeft() {
    assertThat(index.capacityTokens(first, 10_000)).isEqualTo(10_000);
    serve(1, 2);
    assertThat(index.capacityTokens(first, 10_000)).isEqualTo(10_000);
    serve(3, 6);

    assertThat(index.capacityTokens(first, 10_000)).isEqualTo(3200);
    assertThat(index.capacityTokens(second, 10_000)).isEqualTo(10_000);
  }

  @Test
  void capacityIsAtLeastTheTokensAnnouncedAtOnce() {
    serve(1, 2);

    assertThat(index.capacityTokens(first, 1000)).isEqualTo(3200);
  }

  @Test
  void capacityIsKeptAcrossMissedEvents() {
    serve(1, 6);
    index.reset(first, 0, KvFeed.Cause.MISSED);
    for (int n = 10; n < 20; n++) {
      index.apply(first, 0, batch(engine.stored(prompt(n, 160))));
      index.apply(first, 0, batch(engine.removed(prompt(n, 160), 0, KvTier.DEVICE)));
    }

    assertThat(index.capacityTokens(first, 10_000)).isEqualTo(3200);
  }

  @Test
  void fewChangingBlocksDoNotDetermineTheCapacity() {
    for (int n = 10; n < 20; n++) {
      index.apply(first, 0, batch(engine.stored(prompt(n, 160))));
      index.apply(first, 0, batch(engine.removed(prompt(n, 160), 0, KvTier.DEVICE)));
    }

    assertThat(index.capacityTokens(first, 10_000)).isEqualTo(10_000);
  }

  @Test
  void memoryStaysWithinTheBoundAndIsGivenBack() {
    KvIndex small = new KvIndex(1 << 20, 64, fleet.clock::nanos);
    List<Worker> workers = fleet.pool().workers();
    for (int i = 0; i < 3000; i++) {
      Worker worker = workers.get(i % workers.size());
      small.live(worker, 0, true);
      small.apply(worker, 0, batch(engine.stored(prompt(i, 400))));
      assertThat(small.bytes()).isLessThanOrEqualTo(small.maxBytes());
    }
    assertThat(small.refused()).isPositive();
    workers.forEach(small::forget);
    small.live(first, 0, true);
    int[] prompt = prompt(1, 161);
    small.apply(first, 0, batch(engine.stored(prompt)));
    assertThat(small.hits(key(prompt), TestFleet.MODEL).device(first.slot())).isEqualTo(10);
  }

  @Test
  void aLowerBoundDropsTheEndsOfPromptsAndAHigherOneHasRoom() {
    KvIndex kv = new KvIndex(8 << 20, 64, fleet.clock::nanos);
    kv.live(first, 0, true);
    kv.live(second, 0, true);
    int[] system = prompt(1, 160);
    kv.apply(second, 0, batch(other.stored(prompt(7, 160))));
    kv.apply(first, 0, batch(engine.stored(system)));
    for (int i = 0; i < 1000; i++) {
      int[] prompt = branch(system, 160, prompt(100 + i, 160));
      kv.apply(first, 0, batch(engine.stored(null, prompt, 10, KvTier.DEVICE)));
    }
    long before = kv.bytes();
    long tokens = kv.deviceTokens(first);
    assertThat(kv.refused()).isZero();

    kv.resize(1 << 20);
    assertThat(kv.maxBytes()).isEqualTo(1 << 20);
    assertThat(kv.bytes()).isLessThanOrEqualTo(1 << 20).isLessThan(before);
    assertThat(kv.refused()).isPositive();
    assertThat(kv.blocks()).isPositive();
    assertThat(kv.deviceTokens(first)).isPositive().isLessThan(tokens);
    assertThat(kv.deviceTokens(first) / 16 + 10).isEqualTo(kv.blocks());
    assertThat(device(kv, first, branch(system, 160, new int[] {7}))).isEqualTo(10);
    assertThat(device(kv, second, branch(prompt(7, 160), 160, new int[] {7}))).isEqualTo(10);
    assertThat(kv.knownSince(first.slot(), 0)).isEqualTo(fleet.clock.nanos());

    kv.resize(32 << 20);
    assertThat(device(kv, first, branch(system, 160, new int[] {7}))).isEqualTo(10);
    long refused = kv.refused();
    for (int i = 0; i < 3000; i++) {
      int[] prompt = branch(system, 160, prompt(100 + i, 160));
      kv.apply(first, 0, batch(engine.stored(prompt)));
      assertThat(device(kv, first, branch(prompt, 320, new int[] {7}))).isEqualTo(20);
    }
    assertThat(kv.refused()).isEqualTo(refused);
    assertThat(kv.bytes()).isGreaterThan(before);
  }

  private static int device(KvIndex kv, Worker worker, int... ids) {
    return kv.hits(key(ids), TestFleet.MODEL).device(worker.slot());
  }

  @Test
  void sourcesWithoutRoomLoseAllTheirBlocksAndLearnAgain() {
    int most = 64;
    KvIndex kv = new KvIndex(1 << 20, most, fleet.clock::nanos);
    TestFleet large = TestFleet.of(most);
    for (int i = 0; i < most; i++) {
      for (int n = 0; n < 5; n++) {
        kv.apply(large.worker(i), n, batch(new Announcer(16, i).stored(prompt(i, 16))));
      }
    }
    assertThat(kv.refused()).isPositive();
    kv.resize(8 << 20);
    for (int i = 0; i < most; i++) {
      for (int n = 0; n < 5; n++) {
        kv.apply(large.worker(i), n, batch(new Announcer(16, i).stored(prompt(i, 16))));
      }
    }
    assertThat(kv.blocks()).isEqualTo(5L * most);

    kv.resize(1 << 20);
    assertThat(kv.bytes()).isLessThanOrEqualTo(1 << 20);
    assertThat(kv.blocks()).isPositive().isLessThan(5L * most);
    kv.resize(8 << 20);
    for (int i = 0; i < most; i++) {
      for (int n = 0; n < 5; n++) {
        kv.apply(large.worker(i), n, batch(new Announcer(16, i).stored(prompt(i, 16))));
      }
    }
    assertThat(kv.blocks()).isEqualTo(5L * most);
  }

  @Test
  void readersAndSourcesOnManyThreadsEndInTheRightState() throws Exception {
    int[] shared = prompt(1, 4097);
    int threads = 4;
    try (ExecutorService pool = Executors.newFixedThreadPool(threads)) {
      List<Future<?>> done = new ArrayList<>();
      for (int t = 0; t < threads; t++) {
        Worker worker = fleet.worker(t);
        done.add(pool.submit(() -> churn(worker, shared)));
      }
      for (int i = 0; i < 40; i++) {
        index.resize((8 + i % 2 * 8L) << 20);
      }
      for (Future<?> future : done) {
        future.get(120, TimeUnit.SECONDS);
      }
    }
    for (int t = 0; t < threads; t++) {
      assertThat(device(fleet.worker(t), shared)).isEqualTo(256);
    }
  }

  private void churn(Worker worker, int... shared) {
    Announcer own = new Announcer(16, worker.slot());
    index.live(worker, 0, true);
    for (int i = 0; i < 60; i++) {
      int[] branch = branch(shared, 1600, prompt(1000L * worker.slot() + i, 333));
      index.apply(worker, 0, batch(own.stored(shared), own.stored(branch)));
      assertThat(device(worker, branch)).isLessThanOrEqualTo(120);
      index.apply(worker, 0, batch(own.removed(branch, 100, KvTier.DEVICE)));
      if (i % 7 == 0) {
        index.reset(worker, 0, KvFeed.Cause.MISSED);
      }
    }
    index.apply(worker, 0, batch(own.stored(shared)));
  }

  @Test
  void lengthsBeyondTheMaximumCountAsNotCached() {
    int[] prompt = prompt(1, 16 * 60 + 1);
    KvIndex many = new KvIndex(8 << 20, 64, fleet.clock::nanos);
    TestFleet large = TestFleet.of(60);
    for (int i = 0; i < 60; i++) {
      many.live(large.worker(i), 0, true);
      int[] part = Arrays.copyOf(prompt, 16 * (i + 1));
      many.apply(large.worker(i), 0, batch(new Announcer(16, i).stored(part)));
    }
    KvHits hits = many.hits(key(prompt), TestFleet.MODEL);
    for (int i = 0; i < 60; i++) {
      int device = hits.device(large.worker(i).slot());
      assertThat(device).isIn(0, i + 1);
    }
    assertThat(hits.device(large.worker(59).slot())).isEqualTo(60);
  }

  @Test
  void blockIsStoredUntilEachOfItsCopiesIsRemoved() {
    int[] prompt = prompt(1, 49);
    index.apply(first, 0, batch(engine.stored(prompt), engine.stored(prompt)));
    assertThat(index.deviceTokens(first)).isEqualTo(96);
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isEqualTo(3);
    assertThat(index.deviceTokens(first)).isEqualTo(48);
    index.apply(first, 0, batch(engine.removed(prompt, 2, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isEqualTo(2);
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isZero();
    assertThat(index.deviceTokens(first)).isZero();
    assertThat(index.blocks()).isZero();
  }

  @Test
  void copiesAreForgottenWhenTheCacheIsCleared() {
    int[] prompt = prompt(1, 49);
    index.apply(first, 0, batch(engine.stored(prompt), engine.stored(prompt)));
    index.apply(first, 0, batch(new KvEvent.Cleared(), engine.stored(prompt)));
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    assertThat(device(first, prompt)).isZero();
  }

  @Test
  void onOtherTiersABlockIsPresentOrAbsent() {
    int[] prompt = prompt(1, 49);
    KvEvent onHost = engine.stored(null, prompt, 0, KvTier.HOST);
    index.apply(first, 0, batch(onHost, onHost));
    assertThat(credit(first, prompt)).isPositive();
    index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.HOST)));
    assertThat(credit(first, prompt)).isZero();
  }

  @Test
  void copiesBeyondTheCounterAreLostInsteadOfKeptForever() {
    int[] prompt = prompt(1, 17);
    for (int i = 0; i < 300; i++) {
      index.apply(first, 0, batch(engine.stored(prompt)));
    }
    for (int i = 0; i < 300; i++) {
      index.apply(first, 0, batch(engine.removed(prompt, 0, KvTier.DEVICE)));
    }
    assertThat(device(first, prompt)).isZero();
    assertThat(index.deviceTokens(first)).isZero();
  }

  @Test
  void continuedPrefixOutlivesUnusedOnes() {
    KvIndex small = new KvIndex(1 << 20, 64, fleet.clock::nanos);
    Announcer large = new Announcer(4096, 1);
    small.live(first, 0, true);
    int[] root = prompt(1, 2 * 4096);
    small.apply(first, 0, batch(large.stored(root)));
    for (int i = 0; i < 110; i++) {
      fleet.clock.advance(Duration.ofSeconds(40));
      small.apply(first, 0, batch(large.stored(prompt(100 + i, 4096))));
      int[] turn = branch(root, root.length, prompt(1000 + i, 4096));
      small.apply(first, 0, batch(large.stored(null, turn, 2, KvTier.DEVICE)));
      small.apply(first, 0, batch(large.removed(turn, 2, KvTier.DEVICE)));
    }
    assertThat(small.index().evicting()).isTrue();
    KvHits hits = small.hits(key(branch(root, root.length, new int[] {7})), TestFleet.MODEL);
    assertThat(hits.device(first.slot())).isEqualTo(512);
  }

  @Test
  void adapterNamesAreBounded() {
    Adapters adapters = new Adapters();
    assertThat(adapters.start("x".repeat(1000))).isZero();
    for (int i = 0; i < 4096; i++) {
      assertThat(adapters.start("a" + i)).isNotZero();
    }
    assertThat(adapters.start("one more")).isZero();
    assertThat(adapters.start("a7")).isNotZero().isEqualTo(adapters.asked("a7"));
    @Nullable String base = null;
    assertThat(adapters.start(base)).isEqualTo(adapters.asked("whatever"));
  }
}
