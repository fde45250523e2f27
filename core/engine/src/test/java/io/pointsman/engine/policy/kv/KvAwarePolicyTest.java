package io.pointsman.engine.policy.kv;

import static io.pointsman.engine.kv.Announcer.batch;
import static io.pointsman.engine.kv.Announcer.branch;
import static io.pointsman.engine.kv.Announcer.prompt;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.pointsman.engine.Decision.Routed;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.Requests;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.Announcer;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvEvent;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.kv.KvTier;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.TokenIds;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class KvAwarePolicyTest {
  private static final int[] PROMPT = prompt(1, 129);

  private final TestFleet fleet = TestFleet.of(3);
  private final KvIndex index = new KvIndex(8 << 20, 64, fleet.clock::nanos);
  private final Map<PrefixBlocks, PrefixBlocks> texts = new HashMap<>();
  private final Announcer announcer = new Announcer(16, 1);
  private final Worker first = fleet.worker(0);
  private final Worker second = fleet.worker(1);
  private final Worker third = fleet.worker(2);
  private RoutingEngine engine = engine(KvAwareSettings.DEFAULTS);
  private PickReason lastReason = PickReason.FALLBACK;
  private int lastBlocks;
  private KvTally.@Nullable LookupOutcome lastLookup;

  KvAwarePolicyTest() {
    for (Worker worker : fleet.pool().workers()) {
      index.live(worker, 0, true);
    }
  }

  private RoutingEngine engine(KvAwareSettings settings) {
    PolicyParts parts =
        new PolicyParts(
            fleet.clock::nanos,
            fleet.random,
            64,
            PolicySettings.DEFAULTS.withKvAware(settings),
            new KvKnowledge(index, texts::get));
    return engine(Policies.create("kv_aware", parts));
  }

  private RoutingEngine engine(PolicySetup setup) {
    EngineListener listener =
        new EngineListener() {
          @Override
          public void routed(RoutingRequest request, LeaseView lease) {
            lastReason = request.result().reason();
            lastBlocks = request.result().matchedBlocks();
            lastLookup = request.result().lookup();
          }

          @Override
          public void policyFailed(RuntimeException failure) {
            throw new AssertionError(failure);
          }
        };
    return new RoutingEngine(
        fleet.fleet, setup, EngineSettings.DEFAULTS, listener, fleet.clock::nanos, fleet.random);
  }

  private static PrefixBlocks key(int... ids) {
    return TokenIds.key(9, ids, ids.length, ids.length);
  }

  private static RoutingRequest asking(PrefixBlocks key) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(key).build();
  }

  private static RoutingRequest asking(int... ids) {
    return asking(key(ids));
  }

  private Lease place(RoutingRequest request) {
    if (engine.decide(request) instanceof Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError("rejected");
  }

  private Worker serve(RoutingRequest request) {
    Lease lease = place(request);
    lease.succeeded();
    return lease.worker();
  }

  private void announce(Worker worker, int... prompt) {
    index.apply(worker, 0, batch(announcer.stored(prompt)));
  }

  @Test
  void requestFollowsTheEventsOfItsPromptFromAnySource() {
    announce(third, PROMPT);
    for (int i = 0; i < 10; i++) {
      assertThat(serve(asking(PROMPT))).isSameAs(third);
      fleet.clock.advance(Duration.ofSeconds(17));
    }
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
    assertThat(lastBlocks).isEqualTo(8);
    assertThat(index.tally().counted(KvTally.LookupOutcome.HIT)).isEqualTo(10);
  }

  @Test
  void notesContainTheResultOfTheLookup() {
    announce(third, PROMPT);
    serve(asking(PROMPT));
    assertThat(lastLookup).isEqualTo(KvTally.LookupOutcome.HIT);
    serve(asking(prompt(2, 100)));
    assertThat(lastLookup).isEqualTo(KvTally.LookupOutcome.MISS);
    serve(Requests.prompt(5));
    assertThat(lastLookup).isEqualTo(KvTally.LookupOutcome.UNKNOWN_TOKENS);
    serve(Requests.bare());
    assertThat(lastLookup).isNull();
  }

  @Test
  void hitIsWeighedAgainstRequestsInFlight() {
    announce(first, PROMPT);
    // One token is left to compute there, and 129 elsewhere: 128 for 129 requests each.
    fleet.load(first, 127);
    assertThat(serve(asking(PROMPT))).isSameAs(first);

    fleet.load(first, 1);
    assertThat(serve(asking(PROMPT))).as("equal: the fewest requests").isNotSameAs(first);
    assertThat(lastReason).isEqualTo(PickReason.LEAST_COST);
    assertThat(lastBlocks).isZero();
  }

  @Test
  void promptsCountUntilTheirFirstToken() {
    Lease running = place(asking(prompt(2, 1000)));
    Worker busy = running.worker();
    for (Worker worker : fleet.pool().workers()) {
      fleet.load(worker, worker == busy ? 0 : 3);
    }
    // (10 + 1000) * 2 there, 10 * 4 elsewhere.
    assertThat(serve(asking(prompt(3, 10)))).isNotSameAs(busy);

    running.firstToken();
    assertThat(serve(asking(prompt(4, 10)))).isSameAs(busy);
    running.succeeded();
    assertThat(serve(asking(prompt(5, 10)))).isSameAs(busy);
  }

  @Test
  void promptsThatEndWithoutAFirstTokenNoLongerCount() {
    for (int i = 0; i < 9; i++) {
      place(asking(prompt(100 + i, 500))).ignored();
    }
    Lease running = place(asking(prompt(2, 1000)));
    fleet.load(second, 2);
    fleet.load(third, 2);
    running.ignored();
    fleet.load(first, 2);

    Set<Worker> used = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      used.add(serve(asking(prompt(200 + i, 20))));
    }
    assertThat(used).hasSize(3);
  }

  @Test
  void onlyUncachedTokensAreCharged() {
    announce(first, PROMPT);
    Lease running = place(asking(PROMPT));
    assertThat(running.worker()).isSameAs(first);
    fleet.load(second, 1);
    fleet.load(third, 1);

    // (100 + 1) * 2 there, 100 * 2 elsewhere; with the whole prompt charged it would be 229 * 2.
    assertThat(serve(asking(prompt(3, 100)))).isNotSameAs(first);
    fleet.load(second, 1);
    fleet.load(third, 1);
    assertThat(serve(asking(prompt(4, 100)))).isSameAs(first);
  }

  @Test
  void idleFleetFillsEvenlyWithConsecutiveRequests() {
    Map<Worker, Integer> served = new HashMap<>();
    for (int i = 0; i < 300; i++) {
      served.merge(serve(asking(prompt(i, 100))), 1, Integer::sum);
    }
    assertThat(served).hasSize(3).allSatisfy((_, n) -> assertThat(n).isBetween(70, 130));
    assertThat(index.tally().counted(KvTally.LookupOutcome.MISS)).isEqualTo(300);
  }

  @Test
  void requestsWithoutAPromptGoToTheLeastLoaded() {
    fleet.load(first, 1);
    fleet.load(third, 1);
    assertThat(serve(Requests.bare())).isSameAs(second);
    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);
  }

  @Test
  void textWithKnownIdsFollowsEvents() {
    announce(second, PROMPT);
    RoutingRequest text = Requests.prompt(5);
    texts.put(text.prefix(), TokenIds.key(0, PROMPT, PROMPT.length, PROMPT.length));

    assertThat(serve(text)).isSameAs(second);
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
    // 128 of 129 tokens, in the four blocks of the text.
    assertThat(lastBlocks).isEqualTo(3);
  }

  @Test
  void knownBeginningOfATextCounts() {
    announce(second, PROMPT);
    RoutingRequest text = Requests.prompt(5);
    texts.put(text.prefix(), TokenIds.key(0, PROMPT, 128, 1000));

    assertThat(serve(text)).isSameAs(second);
  }

  @Test
  void textWithUnknownIdsFollowsItsPlacements() {
    Worker home = serve(Requests.prompt(5));
    for (int i = 0; i < 10; i++) {
      assertThat(serve(Requests.prompt(5))).isSameAs(home);
    }
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
    assertThat(index.tally().counted(KvTally.LookupOutcome.UNKNOWN_TOKENS)).isEqualTo(11);
    assertThat(index.tally().counted(KvTally.LookupOutcome.HIT)).isZero();
  }

  @Test
  void saltedPromptsGetNoCreditForEvents() {
    announce(third, PROMPT);
    PrefixBlocks known = key(PROMPT);
    PrefixBlocks salted =
        new PrefixBlocks(known.hashes(), known.count(), known.length(), 16, known.tokens());
    fleet.load(third, 1);

    assertThat(serve(asking(salted))).isNotSameAs(third);
    assertThat(index.tally().counted(KvTally.LookupOutcome.UNKNOWN_TOKENS)).isEqualTo(1);
  }

  /** Prompt blocks that a worker is expected to hold, queried by a request that ends at once. */
  private int cachedOn(Worker worker, RoutingRequest request) {
    fleet.pool().workers().forEach(each -> each.drain(each != worker));
    serve(request);
    fleet.pool().workers().forEach(each -> each.drain(false));
    return lastBlocks;
  }

  @Test
  void placedPromptCountsAsCachedBeforeItsEvent() {
    Worker home = place(asking(PROMPT)).worker();
    for (Worker worker : fleet.pool().workers()) {
      fleet.load(worker, worker == home ? 0 : 2);
    }
    // (1 + 129) * 2 there, 129 * 3 elsewhere; without the cached prompt (129 + 129) * 2.
    assertThat(serve(asking(PROMPT))).isSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
  }

  @Test
  void waitingPromptCountsAsCachedUntilItsEventIsDue() {
    fleet.clock.advance(Duration.ofMinutes(1));
    Lease waiting = place(asking(PROMPT));
    fleet.clock.advance(Duration.ofSeconds(90));
    Worker home = waiting.worker();
    assertThat(cachedOn(home, asking(Arrays.copyOf(PROMPT, 64)))).isEqualTo(4);

    waiting.firstToken();
    fleet.clock.advance(Duration.ofSeconds(17));
    assertThat(cachedOn(home, asking(Arrays.copyOf(PROMPT, 112)))).as("never announced").isZero();
  }

  @Test
  void waitingPromptsCountAsCachedAfterAClearEvent() {
    Worker home = serve(asking(prompt(2, 129)));
    fleet.clock.advance(Duration.ofSeconds(5));
    fleet.pool().workers().forEach(each -> each.drain(each != home));
    place(asking(PROMPT));
    fleet.clock.advance(Duration.ofSeconds(3));
    index.apply(home, 0, batch(new KvEvent.Cleared()));

    assertThat(cachedOn(home, asking(PROMPT))).isEqualTo(9);
    assertThat(cachedOn(home, asking(prompt(2, 129)))).isZero();
  }

  @Test
  void placementsOnAHangingWorkerCountForTwoMinutes() {
    fleet.clock.advance(Duration.ofMinutes(1));
    Worker home = place(asking(PROMPT)).worker();
    fleet.clock.advance(Duration.ofSeconds(122));
    assertThat(cachedOn(home, asking(PROMPT))).isZero();
  }

  @Test
  void placementsCountBeyondTheKnownIdsIfTheseAreAnnounced() {
    fleet.clock.advance(Duration.ofMinutes(1));
    RoutingRequest text = Requests.prompt(5);
    Worker home = serve(text);
    fleet.clock.advance(Duration.ofMinutes(1));
    texts.put(text.prefix(), TokenIds.key(0, PROMPT, 32, 1000));
    announce(home, Arrays.copyOf(PROMPT, 16));
    assertThat(cachedOn(home, asking(text.prefix()))).isZero();

    fleet.clock.advance(Duration.ofMinutes(1));
    announce(home, Arrays.copyOf(PROMPT, 32));
    assertThat(cachedOn(home, asking(text.prefix()))).isEqualTo(text.prefix().count());
  }

  @Test
  void evictionEventsOverridePlacements() {
    Worker home = serve(asking(PROMPT));
    fleet.clock.advance(Duration.ofSeconds(17));
    fleet.load(home, 1);
    assertThat(serve(asking(PROMPT))).isNotSameAs(home);
  }

  /** Interrupts a worker's event stream briefly; another event follows afterwards. */
  private void missSomethingOf(Worker worker) {
    fleet.clock.advance(Duration.ofMinutes(1));
    index.reset(worker, 0, KvFeed.Cause.MISSED);
    announce(worker, prompt(50, 100));
    fleet.clock.advance(Duration.ofMinutes(1));
  }

  private Worker serve(RoutingRequest request, int cachedTokens) {
    Lease lease = place(request);
    lease.reported(new Usage(lease.promptTokens(), cachedTokens, 1));
    lease.succeeded();
    return lease.worker();
  }

  @Test
  void placementsBeforeMissedEventsCountUntilTheNextPlacement() {
    Worker home = serve(asking(PROMPT));
    announce(home, PROMPT);
    missSomethingOf(home);
    fleet.load(home, 1);

    assertThat(serve(asking(PROMPT))).isSameAs(home);
    assertThat(lastReason).isEqualTo(PickReason.PREFIX_HIT);
    assertThat(lastBlocks).isEqualTo(9);
    fleet.clock.advance(Duration.ofMinutes(1));
    assertThat(serve(asking(PROMPT))).as("nothing was found there").isNotSameAs(home);
  }

  @Test
  void unannouncedCacheHitsMakePlacementsCount() {
    int[] longer = prompt(1, 1025);
    Worker home = serve(asking(longer));
    missSomethingOf(home);
    fleet.load(home, 1);

    for (int i = 0; i < 4; i++) {
      assertThat(serve(asking(longer), 1024)).isSameAs(home);
      fleet.clock.advance(Duration.ofMinutes(1));
    }
    assertThat(serve(asking(longer), 0)).isSameAs(home);
    fleet.clock.advance(Duration.ofMinutes(1));
    assertThat(serve(asking(longer))).isNotSameAs(home);
  }

  private RoutingRequest pinned(Worker to, int... prompt) {
    return RoutingRequest.builder()
        .model(TestFleet.MODEL)
        .prefix(key(prompt))
        .pinnedWorker(to.id())
        .build();
  }

  /** For a holder bitmap only the last use by any of its workers is known. */
  @Test
  void unannouncedCacheHitsMakePlacementsCountDespiteOtherHolders() {
    for (int i = 3; i < 8; i++) {
      index.live(fleet.add(TestFleet.spec("w" + i, TestFleet.MODEL)), 0, true);
    }
    int[] hot = prompt(1, 1025);
    for (int i = 0; i < 6; i++) {
      serve(pinned(fleet.worker(i), hot));
      announce(fleet.worker(i), hot);
    }
    missSomethingOf(first);
    for (int i = 0; i < 60; i++) {
      fleet.clock.advance(Duration.ofSeconds(1));
      serve(pinned(second, hot), 1024);
    }
    for (int i = 1; i < 8; i++) {
      fleet.load(fleet.worker(i), 1);
    }
    fleet.load(first, 1);
    assertThat(serve(asking(hot))).as("not known any more").isNotSameAs(first);

    serve(pinned(first, hot), 1024);
    for (int i = 1; i < 8; i++) {
      fleet.load(fleet.worker(i), 1);
    }
    assertThat(serve(asking(hot))).isSameAs(first);
  }

  @Test
  void placementsBeforeARestartAreNotCachedDespiteMissedEvents() {
    Worker home = serve(asking(PROMPT));
    missSomethingOf(home);
    index.restarted(home, 0, fleet.clock.nanos());
    fleet.load(home, 1);

    assertThat(serve(asking(PROMPT))).isNotSameAs(home);
  }

  @Test
  void workersWithoutEventsAreKnownByTheirPlacements() {
    for (Worker worker : fleet.pool().workers()) {
      index.live(worker, 0, false);
    }
    Worker home = serve(asking(PROMPT));
    fleet.load(home, 1);
    assertThat(serve(asking(PROMPT))).isSameAs(home);
    assertThat(index.tally().counted(KvTally.LookupOutcome.NOT_ANNOUNCED)).isEqualTo(2);

    Worker other = home == first ? second : first;
    index.live(other, 0, true);
    announce(other, PROMPT);
    assertThat(serve(asking(PROMPT))).as("one request fewer").isSameAs(other);
  }

  @Test
  void blocksOnSlowerTiersAreWorthLess() {
    index.apply(first, 0, batch(announcer.stored(null, PROMPT, 0, KvTier.DISK)));
    index.apply(second, 0, batch(announcer.stored(null, PROMPT, 0, KvTier.HOST)));
    index.apply(third, 0, batch(announcer.stored(null, PROMPT, 0, KvTier.EXTERNAL)));
    assertThat(serve(asking(PROMPT))).isSameAs(second);

    engine = engine(new KvAwareSettings(0, new KvCredits(0, 0.5, 1), 1 << 20));
    assertThat(serve(asking(PROMPT))).isSameAs(first);
  }

  @Test
  void adapterIsRequestedByItsNameAsAModel() {
    fleet.fleet.learnModels(first, Set.of(TestFleet.MODEL, "lora"));
    fleet.fleet.learnModels(second, Set.of(TestFleet.MODEL, "lora"));
    index.apply(first, 0, batch(announcer.stored("lora", PROMPT, 0, KvTier.DEVICE)));
    announce(second, PROMPT);
    RoutingRequest adapted = RoutingRequest.builder().model("lora").prefix(key(PROMPT)).build();

    assertThat(serve(adapted)).isSameAs(first);
    assertThat(serve(asking(PROMPT))).isSameAs(second);
  }

  @Test
  void unannouncedAdapterFollowsPlacementsInsteadOfTheBaseModelsBlocks() {
    Set<String> models = Set.of(TestFleet.MODEL, TestFleet.MODEL + ":new", "lora");
    for (Worker worker : fleet.pool().workers()) {
      fleet.fleet.learnModels(worker, models);
    }
    announce(first, PROMPT);
    index.apply(second, 0, batch(announcer.stored("lora", prompt(5, 64), 0, KvTier.DEVICE)));
    RoutingRequest adapted =
        RoutingRequest.builder().model(TestFleet.MODEL + ":new").prefix(key(PROMPT)).build();
    fleet.load(first, 1);

    Worker home = serve(adapted);
    assertThat(home).isNotSameAs(first);
    assertThat(index.tally().counted(KvTally.LookupOutcome.UNKNOWN_TOKENS)).isEqualTo(1);
    fleet.load(home, 1);
    assertThat(serve(adapted)).isSameAs(home);
    fleet.clock.advance(Duration.ofSeconds(17));
    assertThat(serve(asking(PROMPT))).isSameAs(first);
  }

  @Test
  void triedWorkerIsNotTriedAgain() {
    announce(first, PROMPT);
    RoutingRequest retry = asking(PROMPT);
    retry.exclude(first);
    assertThat(serve(retry)).isNotSameAs(first);
  }

  @Test
  void departedWorkerIsForgotten() {
    announce(first, PROMPT);
    fleet.fleet.remove(first.id());

    assertThat(index.blocks()).isZero();
    assertThat(serve(asking(PROMPT))).isNotSameAs(first);
  }

  @Test
  void temperatureChoosesMoreExpensiveWorkersAtRandom() {
    fleet.fleet.remove(third.id());
    announce(first, PROMPT);
    int[] branch = branch(PROMPT, 64, prompt(7, 65));
    // 65 tokens are left there and 129 elsewhere; e to the power of 64 / T is 3.
    engine = engine(new KvAwareSettings(64 / Math.log(3), KvCredits.DEFAULTS, 1 << 20));
    int cheap = 0;
    for (int i = 0; i < 4000; i++) {
      cheap += serve(asking(branch)) == first ? 1 : 0;
      fleet.clock.advance(Duration.ofSeconds(17));
    }
    assertThat(cheap).isBetween(2900, 3100);
  }

  @Test
  void hugeTemperatureIsRandomAndATinyOneChoosesTheCheapest() {
    announce(first, PROMPT);
    engine = engine(new KvAwareSettings(1e300, KvCredits.DEFAULTS, 1 << 20));
    Set<Worker> used = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      used.add(serve(asking(PROMPT)));
    }
    assertThat(used).hasSize(3);

    engine = engine(new KvAwareSettings(1e-300, KvCredits.DEFAULTS, 1 << 20));
    for (int i = 0; i < 60; i++) {
      assertThat(serve(asking(PROMPT))).isSameAs(first);
    }
  }

  @Test
  void prefillWorkersAreComparedByTokensAlone() {
    Worker holder = fleet.add(TestFleet.spec("p0", TestFleet.MODEL).withRole(Role.PREFILL));
    Worker other = fleet.add(TestFleet.spec("p1", TestFleet.MODEL).withRole(Role.PREFILL));
    index.live(holder, 0, true);
    index.live(other, 0, true);
    announce(holder, PROMPT);
    fleet.load(holder, 500);
    assertThat(serve(prefill(PROMPT))).as("load does not multiply").isSameAs(holder);

    fleet.load(other, 501);
    Lease running = place(prefill(branch(PROMPT, 128, prompt(8, 129))));
    assertThat(running.worker()).isSameAs(holder);
    // 129 + 1 there, 129 elsewhere.
    assertThat(serve(prefill(PROMPT))).isSameAs(other);
    running.succeeded();
    assertThat(serve(prefill(PROMPT))).isSameAs(holder);
  }

  private static RoutingRequest prefill(int... ids) {
    return RoutingRequest.builder()
        .model(TestFleet.MODEL)
        .role(Role.PREFILL)
        .prefix(key(ids))
        .stream(false)
        .build();
  }

  @Test
  void decodeWorkersAreComparedByRequestsAlone() {
    Worker holder = fleet.add(TestFleet.spec("d0", TestFleet.MODEL).withRole(Role.DECODE));
    Worker other = fleet.add(TestFleet.spec("d1", TestFleet.MODEL).withRole(Role.DECODE));
    index.live(holder, 0, true);
    announce(holder, PROMPT);
    fleet.load(holder, 1);
    RoutingRequest decode =
        RoutingRequest.builder()
            .model(TestFleet.MODEL)
            .role(Role.DECODE)
            .prefix(key(PROMPT))
            .build();

    assertThat(serve(decode)).isSameAs(other);
    assertThat(lastReason).isEqualTo(PickReason.LEAST_LOAD);
  }

  @Test
  void stickySessionsAreChargedTheirUncachedTokens() {
    PolicySettings settings = PolicySettings.DEFAULTS.withAffinity(SessionAffinity.Mode.HARD);
    PolicyParts parts =
        new PolicyParts(
            fleet.clock::nanos, fleet.random, 64, settings, new KvKnowledge(index, texts::get));
    engine = engine(Policies.withAffinity(Policies.create("kv_aware", parts), parts));
    announce(first, PROMPT);
    RoutingRequest opening = ofSession(PROMPT);
    assertThat(serve(opening)).isSameAs(first);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_BIND);
    Lease running = place(ofSession(PROMPT));
    assertThat(running.worker()).isSameAs(first);
    assertThat(lastReason).isEqualTo(PickReason.STICKY_HIT);
    fleet.load(second, 2);
    fleet.load(third, 2);

    // (100 + 1) * 2 there, 100 * 3 elsewhere; with the whole prompt charged it would be 229 * 2.
    assertThat(serve(asking(prompt(3, 100)))).isSameAs(first);
    running.succeeded();
  }

  private static RoutingRequest ofSession(int... ids) {
    return RoutingRequest.builder()
        .model(TestFleet.MODEL)
        .affinity(new AffinityKey(AffinityKey.Kind.SESSION, "header:x-session-id", "s"))
        .prefix(key(ids))
        .build();
  }

  @Test
  void settingsAreChecked() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new KvAwareSettings(-1, KvCredits.DEFAULTS, 1 << 20))
        .withMessage("temperature: -1.0 (expected: >= 0)");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new KvAwareSettings(Double.NaN, KvCredits.DEFAULTS, 1 << 20));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new KvAwareSettings(0, KvCredits.DEFAULTS, 100))
        .withMessage("maxIndexBytes: 100 (expected: >= 1048576)");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new KvCredits(1.1, 0, 0))
        .withMessage("host: 1.1 (expected: 0 to 1)");
    assertThat(Arrays.stream(KvTier.values()).mapToDouble(KvCredits.DEFAULTS::of))
        .containsExactly(1.0, 0.8, 0.3, 0.6);
  }
}
