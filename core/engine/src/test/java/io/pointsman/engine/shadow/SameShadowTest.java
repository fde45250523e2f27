package io.pointsman.engine.shadow;

import static io.pointsman.engine.kv.Announcer.batch;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RecordedEvents;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.Announcer;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.kv.KvTier;
import io.pointsman.engine.kv.TokenKeys;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.AdapterTable;
import io.pointsman.engine.policy.tier.LocalitySettings;
import io.pointsman.engine.policy.tier.Tiers;
import io.pointsman.engine.prefix.TokenIds;
import io.pointsman.engine.shadow.ShadowPolicy.Maker;
import io.pointsman.engine.shadow.ShadowPolicy.Second;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A shadow of the acting policy receives the same input and makes the same decisions. */
class SameShadowTest {
  private static final int WORKERS = 6;
  private static final int REQUESTS = 400;
  private static final int CONVERSATIONS = 24;
  private static final int MOST_RUNNING = 10;
  private static final String BASE = "base";

  /** Not random, so ties are broken equally. */
  private static final RandomSource LAST = _ -> 0;

  private static final LocalitySettings ZONE = new LocalitySettings("", "here", 2);

  private final TestFleet fleet = new TestFleet();
  private final KvIndex announced = new KvIndex(16 << 20, 64, fleet.clock::nanos);
  private final Announcer announcer = new Announcer(16, 1);
  private final Deque<Running> running = new ArrayDeque<>();

  /** The cached prompts of each worker, oldest first. */
  private final Map<Worker, Deque<int[]>> caches = new HashMap<>();

  /** Number of prompts that a worker has room for. */
  private int room = Integer.MAX_VALUE;

  private PolicySettings settings = PolicySettings.DEFAULTS;
  private final SplittableRandom random = new SplittableRandom(5);

  @SuppressWarnings("ArrayRecordComponent") // created here, never changed
  private record Running(Lease lease, int[] prompt, int found) {}

  SameShadowTest() {
    for (int i = 0; i < WORKERS; i++) {
      // A gap in the slots, because a worker registered in between has left.
      fleet.fleet.add(spec("gone" + i, "there"));
      fleet.add(spec("w" + i, i % 2 == 0 ? "here" : "there"));
      fleet.fleet.remove("gone" + i);
    }
    fleet.pool().workers().forEach(worker -> announced.live(worker, 0, true));
  }

  private static WorkerSpec spec(String id, String zone) {
    return new WorkerSpec(
        id,
        "http://" + id,
        Role.REGULAR,
        Set.of(BASE),
        WorkerSpec.NO_RANK,
        0,
        Map.of("zone", zone));
  }

  private PolicyParts parts() {
    return new PolicyParts(
        fleet.clock::nanos, LAST, 64, settings, new KvKnowledge(announced, TokenKeys.NONE));
  }

  /** Adds the tiers of the acting policy. */
  private static PolicySetup tiered(String policy, Fleet of, PolicyParts parts) {
    AdapterTable adapters = new AdapterTable(AdapterSettings.DEFAULTS);
    of.listen(adapters);
    return new Tiers(ZONE, AdapterSettings.DEFAULTS, adapters, LAST)
        .around(Policies.create(policy, parts));
  }

  private static PolicySetup withoutTiers(String policy, PolicyParts parts) {
    return Policies.create(policy, parts);
  }

  private ShadowPolicy shadow(Maker maker, boolean isActing) {
    return new ShadowPolicy(
        fleet.fleet,
        FleetSettings.DEFAULTS,
        new Second(maker, isActing),
        parts(),
        new EngineSettings(UnknownModel.BASE_MODEL),
        CostSettings.DEFAULTS.withMaxBytes(8 << 20));
  }

  /** Growing conversations, some with adapters, several at once, on engines that evict early. */
  private ShadowReport traffic(String policy, ShadowPolicy shadow) {
    RoutingEngine engine =
        new RoutingEngine(
            fleet.fleet,
            tiered(policy, fleet.fleet, parts()).withAnswers(shadow),
            new EngineSettings(UnknownModel.BASE_MODEL),
            new RecordedEvents(),
            fleet.clock::nanos,
            LAST);
    int[] turns = new int[CONVERSATIONS];
    for (int i = 0; i < REQUESTS; i++) {
      int conversation = random.nextInt(CONVERSATIONS);
      int[] prompt = Announcer.prompt(conversation, 4000 + 160 * turns[conversation]++);
      String model = conversation % 4 == 0 ? BASE + ":a" + conversation : BASE;
      RoutingRequest request =
          RoutingRequest.builder()
              .model(model)
              .prefix(TokenIds.key(3, prompt, prompt.length, prompt.length))
              .build();
      place(engine, request, prompt);
      shadow.work();
      fleet.clock.advance(Duration.ofMillis(200 + random.nextInt(1000)));
      if (running.size() > random.nextInt(MOST_RUNNING)) {
        serve(running.removeFirst());
        shadow.work();
      }
    }
    return shadow.report();
  }

  private void place(RoutingEngine engine, RoutingRequest request, int... prompt) {
    if (!(engine.decide(request) instanceof Decision.Routed(Lease lease))) {
      throw new AssertionError("rejected");
    }
    running.add(new Running(lease, prompt, request.result().matchedBlocks() * TokenIds.PER_BLOCK));
  }

  /**
   * Engines announce computed blocks, occasional evictions, and blocks that another router's
   * requests added.
   */
  private void serve(Running request) {
    Worker worker = request.lease().worker();
    request.lease().progressed();
    request.lease().firstToken();
    announceStored(worker, request.prompt());
    if (random.nextInt(3) == 0) {
      announced.apply(worker, 0, batch(announcer.removed(request.prompt(), 10, KvTier.DEVICE)));
    }
    int found = Math.min(request.found(), request.prompt().length - 1);
    if (random.nextInt(2) == 0) {
      Worker other = fleet.worker(random.nextInt(WORKERS));
      announceStored(other, request.prompt());
    }
    request.lease().reported(new Usage(request.prompt().length, found, 20));
    request.lease().succeeded();
  }

  private void announceStored(Worker worker, int... prompt) {
    announced.apply(worker, 0, batch(announcer.stored(prompt)));
    Deque<int[]> cache = caches.computeIfAbsent(worker, _ -> new ArrayDeque<>());
    cache.add(prompt);
    if (cache.size() > room) {
      announced.apply(worker, 0, batch(announcer.removed(cache.remove(), 0, KvTier.DEVICE)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"cost", "kv_aware", "cache_aware", "least_load"})
  void agreesOnEachRequest(String policy) {
    ShadowPolicy shadow = shadow((copy, parts) -> tiered(policy, copy, parts), true);
    ShadowReport report = traffic(policy, shadow);

    assertThat(report.shadow().placed()).isEqualTo(REQUESTS);
    assertThat(report.agreed()).isEqualTo(REQUESTS);
    assertThat(report.shadow().cachedTokens())
        .isPositive()
        .isEqualTo(report.acting().cachedTokens());
    assertThat(report.shadow().imbalance()).isEqualTo(report.acting().imbalance());
    assertThat(report.failures()).isZero();
  }

  @Test
  void agreesIfEventsDetermineTheCapacity() {
    room = 4;
    settings = settings.withCost(CostSettings.DEFAULTS.withKvTokens(40_000));
    ShadowPolicy shadow = shadow((copy, parts) -> tiered("cost", copy, parts), true);
    ShadowReport report = traffic("cost", shadow);

    Worker worker = fleet.worker(0);
    assertThat(report.agreed()).isEqualTo(REQUESTS);
    assertThat(announced.capacityTokens(worker, 40_000)).isLessThan(36_000);
    assertThat(report.failures()).isZero();
  }

  @Test
  void lookUpsOfTheShadowAreNotCounted() {
    ShadowPolicy shadow = shadow((copy, parts) -> tiered("kv_aware", copy, parts), true);
    traffic("kv_aware", shadow);

    long counted = 0;
    for (KvTally.LookupOutcome outcome : KvTally.LookupOutcome.values()) {
      counted += announced.tally().counted(outcome);
    }
    // The acting policy makes no lookup if only one worker is eligible.
    assertThat(counted).isBetween(REQUESTS / 2L, (long) REQUESTS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cost", "kv_aware"})
  void decidesDifferentlyWithoutEvents(String policy) {
    ShadowPolicy shadow = shadow((copy, parts) -> tiered(policy, copy, parts), false);

    assertThat(traffic(policy, shadow).agreed()).isLessThan(REQUESTS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cost", "least_load"})
  void decidesDifferentlyWithoutTiers(String policy) {
    ShadowPolicy shadow = shadow((_, parts) -> withoutTiers(policy, parts), true);

    assertThat(traffic(policy, shadow).agreed()).isLessThan(REQUESTS);
  }

  /** The engines' events reflect the placements of round robin, not those of the shadow. */
  @Test
  void anotherPolicyHasHitsFromItsOwnPlacements() {
    ShadowPolicy shadow = shadow((_, parts) -> withoutTiers("cost", parts), false);
    ShadowReport report = traffic("round_robin", shadow);
    long prompts = report.shadow().promptTokens();

    assertThat(prompts).isEqualTo(report.acting().promptTokens());
    assertThat(report.shadow().cachedTokens()).isBetween(prompts / 2, prompts);
    assertThat(report.acting().cachedTokens()).isLessThan(report.shadow().cachedTokens() * 9 / 10);
  }

  @Test
  void copiesHaveTheSlotsOfTheirOriginals() {
    int[] slots = fleet.pool().workers().stream().mapToInt(Worker::slot).toArray();
    Fleet copy = new Fleet(FleetSettings.DEFAULTS, fleet.clock::nanos);

    assertThat(copy.addCopies(fleet.fleet.snapshot().workers())).isTrue();
    assertThat(slots[0]).as("not what it would have without its original").isPositive();
    assertThat(copy.snapshot().workers().stream().mapToInt(Worker::slot).toArray())
        .isEqualTo(slots);
  }

  @Test
  void copyWaitsForItsOriginalsSlot() {
    Fleet copy = new Fleet(FleetSettings.DEFAULTS, fleet.clock::nanos);
    copy.addCopies(fleet.fleet.snapshot().workers());
    Worker leaving = copy.snapshot().workers().getFirst();
    leaving.probed(true);
    Lease lease = fleet.lease(leaving);
    Worker original = fleet.worker(0);
    fleet.fleet.remove(original.id());
    fleet.add(spec("before", "here"));
    Worker next = fleet.add(spec("next", "here"));
    assertThat(next.slot()).isEqualTo(original.slot());
    copy.remove(leaving.id());

    assertThat(copy.addCopies(fleet.fleet.snapshot().workers())).isFalse();
    assertThat(copy.snapshot().worker("next")).isNull();
    lease.ignored();
    assertThat(copy.addCopies(fleet.fleet.snapshot().workers())).isTrue();
    assertThat(copy.snapshot().worker("next")).extracting(Worker::slot).isEqualTo(next.slot());
  }
}
