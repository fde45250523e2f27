package io.pointsman.engine.policy.cost;

import static io.pointsman.engine.kv.Announcer.batch;
import static io.pointsman.engine.kv.Announcer.prompt;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.Announcer;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed.Cause;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.KvTier;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.latency.LatencyModel.Coefficients;
import io.pointsman.engine.policy.cost.report.CacheMissRecorder;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Effects of the engines' announcements on {@code cost}. */
class AnnouncedCachesTest {
  private static final int[] PROMPT = prompt(1, 3201);

  /** Blocks of the placed prompt; engines announce full blocks only. */
  private static final int BLOCKS = 201;

  private final TestFleet fleet = TestFleet.of(4);
  private final KvIndex index = new KvIndex(8 << 20, 64, fleet.clock::nanos);
  private final Announcer announcer = new Announcer(16, 1);
  private final CostLearner learner = learner(TokenKeys.NONE);
  private final CacheMissRecorder misses = CacheMissRecorder.observing(learner);
  private final RoutingEngine engine = engine(learner);

  private CostLearner learner(TokenKeys texts) {
    return new CostLearner(
        CostSettings.DEFAULTS,
        new KvKnowledge(index, texts),
        KvCredits.DEFAULTS,
        fleet.clock::nanos,
        64,
        LargePages.NONE);
  }

  private RoutingEngine engine(CostLearner learner) {
    return engine(learner, new CostPolicy(CostSettings.DEFAULTS, learner, fleet.random));
  }

  private RoutingEngine engine(CostLearner learner, Policy policy) {
    EngineListener listener =
        failure -> {
          throw new AssertionError(failure);
        };
    return new RoutingEngine(
        fleet.fleet,
        new PolicySetup(policy, List.of(learner), List.of(learner), null, learner.index(), null),
        EngineSettings.DEFAULTS,
        listener,
        fleet.clock::nanos,
        fleet.random);
  }

  private void live() {
    fleet.pool().workers().forEach(worker -> index.live(worker, 0, true));
  }

  private static RoutingRequest asking(PrefixBlocks key) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(key).build();
  }

  private static RoutingRequest asking(int... ids) {
    return asking(TokenIds.key(3, ids, ids.length, ids.length));
  }

  private Worker served(RoutingRequest request) {
    return served(request, Usage.UNKNOWN);
  }

  private Worker served(RoutingRequest request, Usage usage) {
    return served(engine, request, usage);
  }

  private Worker served(RoutingEngine by, RoutingRequest request, Usage usage) {
    Lease lease = placed(by, request);
    answer(lease, 100, usage);
    return lease.worker();
  }

  private static Lease placed(RoutingEngine by, RoutingRequest request) {
    if (by.decide(request) instanceof Decision.Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError("rejected");
  }

  private void answer(Lease lease, int millis, Usage usage) {
    fleet.clock.advance(Duration.ofMillis(millis));
    lease.progressed();
    lease.firstToken();
    lease.reported(usage);
    lease.succeeded();
  }

  private int cachedOf(RoutingRequest request) {
    served(request);
    return request.result().matchedBlocks();
  }

  @Test
  void promptGoesToTheWorkerWithItsEventsFromAnySender() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));
    RoutingRequest request = asking(PROMPT);

    assertThat(served(request)).isSameAs(third);
    assertThat(request.result().matchedBlocks()).isEqualTo(200);
  }

  @Test
  void recentPlacementsCountBeforeTheirEvents() {
    live();
    Worker home = served(asking(PROMPT));
    fleet.clock.advance(Duration.ofSeconds(5));

    assertThat(served(asking(PROMPT))).isSameAs(home);
  }

  @Test
  void waitingPromptCountsAsCachedUntilItsEventIsDue() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Lease waiting = placed(engine, asking(PROMPT));
    only(waiting.worker());
    fleet.clock.advance(Duration.ofMinutes(1));
    RoutingRequest again = asking(PROMPT);
    Lease second = placed(engine, again);
    assertThat(again.result().matchedBlocks()).isEqualTo(BLOCKS);

    answer(waiting, 100, Usage.UNKNOWN);
    answer(second, 100, Usage.UNKNOWN);
    fleet.clock.advance(Duration.ofSeconds(17));
    assertThat(cachedOf(asking(PROMPT))).as("never announced").isZero();
  }

  /** vLLM announces a reset with its next step, which the next requests cause. */
  @Test
  void waitingPromptsStayCachedAfterAClearEvent() {
    live();
    int[] computed = prompt(2, 3201);
    Worker home = served(asking(computed));
    only(home);
    fleet.clock.advance(Duration.ofSeconds(5));
    placed(engine, asking(PROMPT));
    fleet.clock.advance(Duration.ofMillis(100));
    index.apply(home, 0, batch(new KvEvent.Cleared()));

    assertThat(cachedOf(asking(PROMPT))).isEqualTo(BLOCKS);
    assertThat(cachedOf(asking(computed))).isZero();
  }

  @Test
  void placementsWithoutAnEventAreNotCached() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    served(asking(PROMPT));
    fleet.clock.advance(Duration.ofSeconds(30));

    assertThat(cachedOf(asking(PROMPT))).isZero();
  }

  /** Sends the following requests to one worker. */
  private void only(Worker worker) {
    fleet.pool().workers().forEach(each -> each.drain(each != worker));
  }

  /** Of a model with sliding windows or token pairs: no prompt can match its blocks. */
  @Test
  void announcementsThatNoPromptCanMatchSayNothing() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = served(asking(PROMPT));
    long[] blocks = announcer.ids(null, PROMPT, 0);
    KvEvent windows = new KvEvent.Stored(blocks, null, PROMPT, 16, KvTier.DEVICE, null, false);
    index.apply(home, 0, batch(windows));
    fleet.clock.advance(Duration.ofMinutes(1));

    assertThat(cachedOf(asking(PROMPT))).isEqualTo(BLOCKS);
    index.apply(home, 0, batch(new KvEvent.Removed(blocks, KvTier.DEVICE)));
    fleet.clock.advance(Duration.ofMinutes(1));
    assertThat(cachedOf(asking(PROMPT))).as("nothing is announced any more").isZero();
  }

  @Test
  void answersThatFindMoreThanWasAnnouncedAreBelieved() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = served(asking(PROMPT));
    index.apply(home, 0, batch(announcer.stored(prompt(2, 161))));
    fleet.clock.advance(Duration.ofMinutes(1));
    only(home);
    served(asking(PROMPT), new Usage(3201, 3200, 10));
    fleet.clock.advance(Duration.ofMinutes(1));

    assertThat(cachedOf(asking(PROMPT))).isEqualTo(BLOCKS);
  }

  /** Texts with known token ids, and the number of counted look-ups. */
  private static final class CountedTexts implements TokenKeys {
    private int counted;

    @Override
    public PrefixBlocks of(PrefixBlocks text) {
      counted++;
      return key();
    }

    @Override
    public TokenKeys unseen() {
      return _ -> key();
    }

    private static PrefixBlocks key() {
      return TokenIds.key(3, PROMPT, PROMPT.length, PROMPT.length);
    }
  }

  @Test
  void textsAreLookedUpOnceForEachDecisionAsFarAsIsCounted() {
    CountedTexts texts = new CountedTexts();
    RoutingEngine knowing = engine(learner(texts));
    PrefixBlocks text = Prompt.text(1, 200);
    live();
    only(fleet.worker(0));
    RoutingRequest last = asking(text);
    for (int i = 0; i < 2; i++) {
      fleet.clock.advance(Duration.ofMinutes(1));
      served(knowing, asking(text), new Usage(3201, 3200, 10));
    }
    fleet.clock.advance(Duration.ofMinutes(1));
    served(knowing, last, new Usage(3201, 3200, 10));

    assertThat(last.result().matchedBlocks()).as("the answer's look was had").isPositive();
    assertThat(texts.counted).isEqualTo(3);
  }

  @Test
  void responsesThatHitReportedBlocksAddNothing() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    int[] other = prompt(2, 3201);
    Worker home = served(asking(PROMPT));
    only(home);
    served(asking(other));
    index.apply(home, 0, batch(announcer.stored(PROMPT)));
    fleet.clock.advance(Duration.ofMinutes(1));
    served(asking(PROMPT), new Usage(3201, 3200, 10));
    fleet.clock.advance(Duration.ofMinutes(1));

    assertThat(cachedOf(asking(other))).as("placed, and never announced").isZero();
  }

  /** The announcement may still arrive. */
  @Test
  void responsesThatHitRecentPlacementsAddNothing() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = served(asking(PROMPT));
    only(home);
    served(asking(PROMPT), new Usage(3201, 3200, 10));
    fleet.clock.advance(Duration.ofMinutes(1));

    assertThat(cachedOf(asking(PROMPT))).isZero();
  }

  /** After a gap an engine does not repeat its announcements. */
  @Test
  void prefixesFromBeforeAGapStayCachedWhenUsed() {
    live();
    Worker home = served(asking(PROMPT));
    index.apply(home, 0, batch(announcer.stored(PROMPT)));
    fleet.clock.advance(Duration.ofMinutes(1));
    index.reset(home, 0, Cause.MISSED);
    for (int i = 0; i < 3; i++) {
      fleet.clock.advance(Duration.ofMinutes(1));
      RoutingRequest again = asking(PROMPT);
      assertThat(served(again, new Usage(3201, 3200, 10))).isSameAs(home);
      assertThat(again.result().matchedBlocks()).as("use %d", i).isEqualTo(BLOCKS);
    }
  }

  @Test
  void placementsBeforeTheSubscriptionMayBeCached() {
    Worker home = served(asking(PROMPT));
    fleet.clock.advance(Duration.ofMinutes(1));
    live();
    fleet.clock.advance(Duration.ofMinutes(1));

    RoutingRequest again = asking(PROMPT);
    assertThat(served(again)).isSameAs(home);
    assertThat(again.result().matchedBlocks()).isEqualTo(again.prefix().count());
  }

  @Test
  void workersWithoutEventsAreKnownByTheirPlacements() {
    Worker home = served(asking(PROMPT));
    fleet.clock.advance(Duration.ofMinutes(10));
    assertThat(served(asking(PROMPT))).isSameAs(home);
  }

  @Test
  void announcedEvictionsAreBelieved() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));
    index.apply(third, 0, batch(announcer.removed(PROMPT, 100, KvTier.DEVICE)));

    assertThat(cachedOf(asking(PROMPT))).isEqualTo(100);
  }

  private WorkerState state(Worker worker) {
    return requireNonNull(learner.model(worker), "model").state(fleet.now());
  }

  @Test
  void storedBlocksAreNoPendingWork() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));

    Lease lease = placed(engine, asking(PROMPT));
    assertThat(lease.worker()).isSameAs(third);
    assertThat(state(third).prefill().tokens()).isEqualTo(1);
    answer(lease, 20, new Usage(3201, 3200, 10));
    assertThat(misses.sums().expectedTokens()).isEqualTo(3200);
    assertThat(misses.sums().tokens(CacheMiss.NEVER_SEEN)).isEqualTo(1);
  }

  /** Gives a worker more work than any other. */
  private void load(Worker worker) {
    for (int i = 0; i < 20; i++) {
      int[] ids = prompt(1000 + i, 3201);
      RoutingRequest request =
          RoutingRequest.builder()
              .model(TestFleet.MODEL)
              .prefix(TokenIds.key(3, ids, ids.length, ids.length))
              .pinnedWorker(worker.id())
              .build();
      assertThat(placed(engine, request).worker()).isSameAs(worker);
    }
  }

  private void assertLost(CacheMiss reason, int tokens) {
    for (CacheMiss each : CacheMiss.values()) {
      int expected = each == reason ? tokens : each == CacheMiss.NEVER_SEEN ? 3201 - tokens : 0;
      assertThat(misses.sums().tokens(each)).as(each.name()).isEqualTo(expected);
    }
  }

  @Test
  void hitOnABusyWorkerThatIsKnownByItsAnnouncementsIsLostToLoad() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));
    load(third);

    Lease lease = placed(engine, asking(PROMPT));
    assertThat(lease.worker()).isNotSameAs(third);
    answer(lease, 100, new Usage(3201, 0, 10));
    assertLost(CacheMiss.LOAD, 3200);
  }

  @Test
  void hitOnAnUnhealthyWorkerThatIsKnownByItsAnnouncementsIsLostWithIt() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));
    for (int i = 0; i < 10; i++) {
      third.probed(false);
    }

    Lease lease = placed(engine, asking(PROMPT));
    assertThat(lease.worker()).isNotSameAs(third);
    answer(lease, 100, new Usage(3201, 0, 10));
    assertLost(CacheMiss.WORKER_GONE, 3200);
  }

  @Test
  void promptThatAnotherWorkerHasAnnouncedAsEvictedIsNotLostToLoad() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = served(asking(PROMPT));
    index.apply(home, 0, batch(announcer.stored(PROMPT)));
    index.apply(home, 0, batch(announcer.removed(PROMPT, 0, KvTier.DEVICE)));
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker other = fleet.worker(home == fleet.worker(0) ? 1 : 0);
    index.apply(other, 0, batch(announcer.stored(prompt(7, 3201))));
    load(home);

    Lease lease = placed(engine, asking(PROMPT));
    assertThat(lease.worker()).isNotSameAs(home);
    answer(lease, 100, new Usage(3201, 0, 10));
    assertThat(misses.sums().tokens(CacheMiss.EVICTED)).isEqualTo(3201);
    assertThat(misses.sums().tokens(CacheMiss.LOAD)).isZero();
    assertThat(misses.sums().tokens(CacheMiss.WORKER_GONE)).isZero();
  }

  @Test
  void blocksRemovedBetweenChoiceAndPlacementAreEvictedAndNoWorkerIsGone() {
    live();
    Worker third = fleet.worker(2);
    index.apply(third, 0, batch(announcer.stored(PROMPT)));
    load(third);
    Policy cost = new CostPolicy(CostSettings.DEFAULTS, learner, fleet.random);
    Policy removedThen =
        pool -> {
          Picker picker = cost.picker(pool);
          return (request, now) -> {
            Worker picked = picker.pick(request, now);
            index.apply(third, 0, batch(announcer.removed(PROMPT, 0, KvTier.DEVICE)));
            return picked;
          };
        };

    Lease lease = placed(engine(learner, removedThen), asking(PROMPT));
    assertThat(lease.worker()).isNotSameAs(third);
    answer(lease, 100, new Usage(3201, 0, 10));
    assertLost(CacheMiss.EVICTED, 3200);
  }

  @Test
  void cachedPromptsOfOthersDoNotMakeEnginesSeemFast() {
    live();
    Worker third = fleet.worker(2);
    for (int i = 0; i < 200; i++) {
      int[] prompt = prompt(100 + i, 3201);
      index.apply(third, 0, batch(announcer.stored(prompt)));
      Lease lease = placed(engine, asking(prompt));
      assertThat(lease.worker()).isSameAs(third);
      answer(lease, 20, new Usage(3201, 3200, 10));
    }

    Coefficients learned = state(third).kind().pool().latency().present();
    assertThat(learned.compute()).isCloseTo(150, within(1.0));
    assertThat(learned.base()).isCloseTo(20, within(1.0));
  }

  @Test
  void blocksWithAnEvictionEventAreWorkAgain() {
    live();
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = served(asking(PROMPT));
    only(home);
    index.apply(home, 0, batch(announcer.stored(PROMPT)));
    index.apply(home, 0, batch(announcer.removed(PROMPT, 0, KvTier.DEVICE)));
    fleet.clock.advance(Duration.ofMinutes(1));

    Lease lease = placed(engine, asking(PROMPT));
    assertThat(state(home).prefill().tokens()).isEqualTo(3201);
    answer(lease, 100, new Usage(3201, 0, 10));
    assertThat(misses.sums().expectedTokens()).isZero();
    assertThat(misses.sums().tokens(CacheMiss.EVICTED)).isEqualTo(3201);
  }

  /** Returns the cached part of a text on its worker, after an announced event there. */
  private int cachedOfTextAfter(Consumer<Worker> event) {
    PrefixBlocks text = Prompt.text(1, 200);
    Worker home = served(asking(text));
    assertThat(cachedOf(asking(text))).isPositive();
    index.live(home, 0, true);
    event.accept(home);
    return cachedOf(asking(text));
  }

  @Test
  void cacheThatIsSaidToBeEmptyHoldsNoTextEither() {
    assertThat(cachedOfTextAfter(home -> index.apply(home, 0, batch(new KvEvent.Cleared()))))
        .isZero();
  }

  @Test
  void restartedEngineHasAnEmptyCache() {
    assertThat(cachedOfTextAfter(home -> index.restarted(home, 0, fleet.now()))).isZero();
  }

  @Test
  void engineWithMissedEventsKeepsItsCachedPrompts() {
    assertThat(cachedOfTextAfter(home -> index.reset(home, 0, Cause.MISSED))).isPositive();
  }

  @Test
  void placementsBeforeAnObservedRestartAreNotCached() {
    live();
    Worker home = served(asking(PROMPT));
    index.apply(home, 0, batch(announcer.stored(PROMPT)));
    fleet.clock.advance(Duration.ofSeconds(1));
    index.restarted(home, 0, fleet.now());

    assertThat(cachedOf(asking(PROMPT))).isZero();
  }

  /** Idle ranks announce the same restart minutes later. */
  @Test
  void placementsBeforeTheReportOfARestartAreCached() {
    PrefixBlocks old = Prompt.text(1, 200);
    PrefixBlocks fresh = Prompt.text(2, 200);
    Worker home = served(asking(old));
    only(home);
    index.live(home, 0, false);
    index.live(home, 1, false);
    long broke = fleet.now();
    fleet.clock.advance(Duration.ofSeconds(1));
    served(asking(fresh));
    int cached = cachedOf(asking(fresh));
    assertThat(cached).isPositive();
    for (int rank = 0; rank < 2; rank++) {
      index.restarted(home, rank, broke);
      assertThat(cachedOf(asking(fresh))).as("after rank %d", rank).isEqualTo(cached);
      fleet.clock.advance(Duration.ofMinutes(3));
    }
    assertThat(cachedOf(asking(old))).isZero();
  }
}
