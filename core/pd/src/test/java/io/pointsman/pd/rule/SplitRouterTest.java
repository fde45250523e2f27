package io.pointsman.pd.rule;

import static io.pointsman.pd.rule.PdTestFleet.facts;
import static io.pointsman.pd.rule.PdTestFleet.request;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.plan.SplitFacts;
import io.pointsman.pd.rule.Placement.Single;
import io.pointsman.pd.rule.Placement.Split;
import io.pointsman.pd.rule.SplitDecision.Refused;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class SplitRouterTest {
  private static final int NO_BLOCKS = 0;

  private static SplitSettings threshold(int threshold) {
    return new SplitSettings(threshold, 0, 2, 8, 0, true, false, false);
  }

  private static SplitSettings whole(boolean decode, boolean prefill, boolean whenBusy) {
    return new SplitSettings(0, 0, 2, 8, 0, decode, prefill, whenBusy);
  }

  @Test
  void aRequestGoesToAPrefillAndADecodeWorker() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 2, 2);
    Split split = fleet.split(request(4));

    assertThat(split.prefill().worker().spec().role()).isEqualTo(Role.PREFILL);
    assertThat(split.decode().worker().spec().role()).isEqualTo(Role.DECODE);
    assertThat(split.decode().worker().reserved()).isEqualTo(1);
    assertThat(split.rule()).isEqualTo(SplitRule.SPLIT);
    assertThat(fleet.inFlight()).isEqualTo(2);
  }

  @Test
  void aRequestThatBeganBeforeTheEndOfTheSplitFindsTheEngineOfItsRole() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 2);
    SplitRequest began = request(4);
    Split split = fleet.split(began);
    String failed = split.decode().worker().id();
    Fleet workers = fleet.workers.fleet;
    List<Worker> before = workers.snapshot().workers();
    workers.replace(
        before, before.stream().map(each -> each.spec().withRole(Role.REGULAR)).toList());
    began.decode().exclude(fleet.worker(failed));

    assertThat(fleet.router.decodeAgain(began)).isInstanceOf(Refused.class);
    fleet.router.replaced();
    Single single = fleet.single(fleet.router.decodeAgain(began));
    assertThat(single.lease().worker().earlierRole()).isEqualTo(Role.DECODE);
    assertThat(single.lease().worker().id()).isNotEqualTo(failed);
    single.lease().ignored();
  }

  /** The decision begins between the fleet's new snapshot and the engine's use of it. */
  @Test
  void aRequestIsDecidedAgainIfTheEngineFollowsTheFleetMeanwhile() throws Exception {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    FutureTask<SplitDecision> asked =
        new FutureTask<>(() -> fleet.router.decide(request(4, facts(2, 64))));
    Thread asking = new Thread(asked);
    CompletableFuture<Boolean> looked = new CompletableFuture<>();
    CompletableFuture<Boolean> replaced = new CompletableFuture<>();
    fleet.clock =
        () -> {
          if (Thread.currentThread().equals(asking)) {
            looked.complete(true);
            replaced.join();
          }
        };
    Fleet workers = fleet.workers.fleet;
    fleet.beforeEngine =
        () -> {
          if (!workers.snapshot().pool(Role.REGULAR).isEmpty()) {
            asking.start();
            looked.orTimeout(60, TimeUnit.SECONDS).join();
          }
        };
    List<Worker> before = workers.snapshot().workers();
    workers.replace(
        before, before.stream().map(each -> each.spec().withRole(Role.REGULAR)).toList());
    replaced.complete(true);

    Single single = fleet.single(asked.get(60, TimeUnit.SECONDS));
    assertThat(single.lease().worker().spec().role()).isEqualTo(Role.REGULAR);
  }

  @Test
  void prefillThatComesWhileItIsRefusedIsUsed() {
    PdTestFleet fleet = new PdTestFleet(whole(false, false, false), 1, 1);
    SplitRequest request = request(4);
    Split first = fleet.split(request);
    first.prefill().failed(Failure.ERROR);
    request.prefill().exclude(first.prefill().worker());
    fleet.workers.fleet.remove("p0");
    AtomicInteger readings = new AtomicInteger();
    fleet.clock =
        () -> {
          // The first reading is before the pick, the second is for the reason of the refusal.
          if (readings.incrementAndGet() == 2) {
            fleet.add("p1", Role.PREFILL, 0);
          }
        };

    Split second = (Split) fleet.placed(fleet.router.prefillAgain(request, first.decode()));
    assertThat(second.prefill().worker().id()).isEqualTo("p1");
    assertThat(second.decode().worker().id()).isEqualTo("d0");
    assertThat(fleet.inFlight()).isEqualTo(2);
  }

  @Test
  void prefillFollowsThePrefixAndDecodeTheLoad() {
    PdTestFleet fleet = new PdTestFleet(threshold(0), 4, 4);
    String first = fleet.split(request(64)).prefill().worker().id();

    for (int i = 1; i < 4; i++) {
      SplitRequest next = request(64 + i);
      Split split = fleet.split(next);
      assertThat(split.prefill().worker().id()).isEqualTo(first);
      assertThat(next.prefill().result().reason()).isEqualTo(PickReason.PREFIX_HIT);
    }
    for (int i = 0; i < 4; i++) {
      assertThat(fleet.worker("d" + i).inFlight()).isEqualTo(1);
    }
  }

  @Test
  void aRequestThatCannotBeSplitGoesToOneWorker() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    Single single = fleet.single(fleet.router.decide(request(4, facts(2, 64))));

    assertThat(single.rule()).isEqualTo(SplitRule.UNSPLITTABLE);
    assertThat(single.lease().worker().id()).isEqualTo("d0");
    assertThat(single.lease().worker().reserved()).isZero();
  }

  @Test
  void aRequestOfThresholdLengthIsSplit() {
    PdTestFleet fleet = new PdTestFleet(threshold(100), 1, 1);

    assertThat(fleet.placed(fleet.router.decide(request(4, facts(1, 99)))).rule())
        .isEqualTo(SplitRule.SHORT_INPUT);
    assertThat(fleet.placed(fleet.router.decide(request(4, facts(1, 100)))).rule())
        .isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void withoutAnEstimateTheRoutingKeysTokensCount() {
    PdTestFleet fleet = new PdTestFleet(threshold(64), 1, 1);

    assertThat(fleet.placed(fleet.router.decide(request(3, facts(1, -1)))).rule())
        .isEqualTo(SplitRule.SHORT_INPUT);
    assertThat(fleet.placed(fleet.router.decide(request(4, facts(1, -1)))).rule())
        .isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void wholeRequestsPreferRegularWorkers() {
    PdTestFleet fleet = new PdTestFleet(threshold(100), 1, 1);
    fleet.add("r0", Role.REGULAR, 1);

    assertThat(fleet.single(fleet.router.decide(request(1))).lease().worker().id()).isEqualTo("r0");
    assertThat(fleet.single(fleet.router.decide(request(1))).lease().worker().id()).isEqualTo("d0");
    assertThat(fleet.rejected).isEmpty();
  }

  @Test
  void decodeAloneServesAPromptThatItNearlyHolds() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 0, 0.9, 2, 0, true, false, false), 1, 3);
    Split first = fleet.split(request(64));
    String holder = first.decode().worker().id();
    first.prefill().succeeded();
    first.decode().succeeded();
    fleet.workers.load(fleet.worker(holder), 2);

    SplitRequest again = request(66);
    Single single = fleet.single(fleet.router.decide(again));
    assertThat(single.rule()).isEqualTo(SplitRule.CACHED_ON_DECODE);
    assertThat(single.lease().worker().id()).isEqualTo(holder);
    assertThat(single.lease().cachedTokens()).isEqualTo(64 * 16);
    assertThat(again.decode().result().reason()).isEqualTo(PickReason.PREFIX_HIT);

    // Three requests more than the least loaded worker: the gap is too large.
    assertThat(fleet.placed(fleet.router.decide(request(66))).rule()).isEqualTo(SplitRule.SPLIT);
    assertThat(fleet.placed(fleet.router.decide(request(80))).rule()).isEqualTo(SplitRule.SPLIT);
  }

  /** A prompt that a decode worker rejected (4xx) is not in its cache. */
  @Test
  void aRefusedPromptIsNotCached() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 0, 0.9, 2, 0, true, false, false), 1, 1);
    Split first = fleet.split(request(64));
    first.prefill().succeeded();
    first.decode().refused();
    assertThat(fleet.placed(fleet.router.decide(request(64))).rule()).isEqualTo(SplitRule.SPLIT);

    Split second = fleet.split(request(64));
    second.prefill().succeeded();
    second.decode().succeeded();
    assertThat(fleet.placed(fleet.router.decide(request(64))).rule())
        .isEqualTo(SplitRule.CACHED_ON_DECODE);
  }

  @Test
  void theLeastLoadedOfManyHoldersServes() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 0, 0.9, 0, 0, true, false, false), 1, 8);
    for (int i = 0; i < 8; i++) {
      SplitRequest request = request(64);
      for (int n = 0; n < 8; n++) {
        if (n != i) {
          request.decode().exclude(fleet.worker("d" + n));
        }
      }
      Lease lease = ((Decision.Routed) fleet.engine.decide(request.decode())).lease();
      lease.succeeded();
    }
    for (int i = 0; i < 8; i++) {
      if (i != 5) {
        fleet.workers.load(fleet.worker("d" + i), 1);
      }
    }

    Single single = fleet.single(fleet.router.decide(request(64)));
    assertThat(single.rule()).isEqualTo(SplitRule.CACHED_ON_DECODE);
    assertThat(single.lease().worker().id()).isEqualTo("d5");
  }

  @Test
  void anUnfinishedResponseTeachesNothing() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    Split first = fleet.split(request(64));
    first.decode().ignored();

    assertThat(fleet.placed(fleet.router.decide(request(64))).rule()).isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void aWorkerThatLeftHoldsNothing() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    Split first = fleet.split(request(64));
    first.decode().succeeded();
    fleet.workers.fleet.remove("d0");
    fleet.add("d1", Role.DECODE, 0);

    assertThat(fleet.placed(fleet.router.decide(request(64))).rule()).isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void decodeComputesFewUncachedTokens() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 512, 2, 8, 0, true, false, false), 1, 2);
    Split first = fleet.split(request(64));
    String holder = first.decode().worker().id();
    first.decode().succeeded();

    Single single = fleet.single(fleet.router.decide(request(64 + 31)));
    assertThat(single.rule()).isEqualTo(SplitRule.FEW_UNCACHED);
    assertThat(single.lease().worker().id()).isEqualTo(holder);
    assertThat(fleet.placed(fleet.router.decide(request(64 + 32))).rule())
        .isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void aShortPromptWithoutAHolderHasFewUncachedTokensToo() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 512, 2, 8, 0, true, false, false), 1, 1);

    assertThat(fleet.placed(fleet.router.decide(request(31))).rule())
        .isEqualTo(SplitRule.FEW_UNCACHED);
    assertThat(fleet.placed(fleet.router.decide(request(32))).rule()).isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void decodeServesWhenAllPrefillWorkersAreLoaded() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(0, 0, 2, 8, 1000, true, false, false), 2, 1);

    fleet.split(request(64));
    fleet.split(new SplitRequest(TestFleet.MODEL, PrefixBlocks.NONE, null, facts(1, 5)));
    assertThat(fleet.worker("p0").pendingTokens() + fleet.worker("p1").pendingTokens())
        .isEqualTo(1024);
    assertThat(fleet.placed(fleet.router.decide(request(NO_BLOCKS))).rule())
        .isEqualTo(SplitRule.SPLIT);

    fleet.worker("p0").tryLease(fleet.workers.now(), 1001, 0, (_, _) -> {});
    fleet.worker("p1").tryLease(fleet.workers.now(), 1001, 0, (_, _) -> {});
    assertThat(fleet.placed(fleet.router.decide(request(NO_BLOCKS))).rule())
        .isEqualTo(SplitRule.PREFILL_LOADED);
  }

  @Test
  void withoutPrefillWorkersDecodeServesIfPermitted() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 1);
    fleet.kill("p0");

    Single single = fleet.single(fleet.router.decide(request(4)));
    assertThat(single.rule()).isEqualTo(SplitRule.NO_PREFILL);
    assertThat(single.lease().worker().id()).isEqualTo("d0");
    assertThat(single.lease().worker().reserved()).isZero();
  }

  /** The slot becomes free at each moment of the decision in turn. */
  @Test
  void aSlotOfDecodeThatBecomesFreeTakesNoRequestThatWaitsForPrefill() {
    for (int moment = 1; moment <= 20; moment++) {
      PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 0, 0);
      Worker prefill = fleet.add("p0", Role.PREFILL, 1);
      Worker decode = fleet.add("d0", Role.DECODE, 1);
      prefill.tryLease(fleet.workers.now(), 1, 0, (_, _) -> {});
      Lease taken = requireNonNull(decode.tryLease(fleet.workers.now(), 1, 0, (_, _) -> {}));
      AtomicInteger left = new AtomicInteger(moment);
      fleet.clock =
          () -> {
            if (left.decrementAndGet() == 0) {
              taken.succeeded();
            }
          };

      assertThat(fleet.router.decide(request(4)))
          .as("free at moment %d", moment)
          .isInstanceOf(Refused.class);
    }
  }

  @Test
  void decodeCanServeShortRequestsAloneButNotTheOthers() {
    SplitSettings settings =
        new SplitSettings(32, 0, 2, 8, 0, true, false, false, false, PromptLists.DEFAULTS);
    PdTestFleet fleet = new PdTestFleet(settings, 1, 1);
    fleet.kill("p0");

    assertThat(fleet.single(fleet.router.decide(request(1))).rule())
        .isEqualTo(SplitRule.SHORT_INPUT);
    assertThat(fleet.router.decide(request(64)))
        .isInstanceOfSatisfying(
            SplitDecision.Refused.class,
            refused -> assertThat(refused.missing()).isEqualTo(Role.PREFILL));
    assertThat(fleet.worker("d0").reserved()).isZero();
  }

  @Test
  void withoutPrefillWorkersTheRequestIsRefusedIfDecodeIsNotPermitted() {
    PdTestFleet fleet = new PdTestFleet(whole(false, false, false), 1, 1);
    fleet.kill("p0");

    SplitRequest request = request(4);
    Refused refused =
        new Refused(Role.PREFILL, new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0));
    assertThat(fleet.router.decide(request)).isEqualTo(refused);
    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.worker("d0").reserved()).isZero();
    assertThat(fleet.rejected).as("it may be decided anew").isEmpty();
    fleet.router.refused(request, refused);
    assertThat(fleet.rejected).containsExactly(RejectReason.NONE_AVAILABLE);
  }

  /** A split against the rules is better than a refusal. */
  @Test
  void aRequestBetterServedWholeIsSplitIfNoWorkerMayServeItWhole() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(100, 0, 0.5, 8, 32, false, false, false), 1, 1);
    fleet.worker("p0").tryLease(fleet.workers.now(), 33, 0, (_, _) -> {});

    assertThat(fleet.placed(fleet.router.decide(request(1))).rule()).isEqualTo(SplitRule.SPLIT);
    assertThat(fleet.placed(fleet.router.decide(request(64))).rule()).isEqualTo(SplitRule.SPLIT);
    assertThat(fleet.placed(fleet.router.decide(request(64))).rule())
        .as("decode holds it")
        .isEqualTo(SplitRule.SPLIT);

    fleet.add("r0", Role.REGULAR, 2);
    assertThat(fleet.placed(fleet.router.decide(request(1))).rule())
        .isEqualTo(SplitRule.SHORT_INPUT);
    assertThat(fleet.placed(fleet.router.decide(request(64))).rule())
        .isEqualTo(SplitRule.PREFILL_LOADED);
    assertThat(fleet.placed(fleet.router.decide(request(1))).rule())
        .as("the regular worker is full")
        .isEqualTo(SplitRule.SPLIT);
  }

  @Test
  void aRequestThatCanNeitherBeSplitNorServedWholeIsUnsplittable() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.HALVES_ONLY, 1, 1);
    SplitRequest choices = request(4, facts(2, 64));

    assertThat(fleet.router.decide(choices))
        .isEqualTo(new Refused(Role.REGULAR, new Decision.Rejected(RejectReason.UNSPLITTABLE, 0)));
    fleet.add("r0", Role.REGULAR, 0);
    assertThat(fleet.single(fleet.router.decide(choices)).lease().worker().id()).isEqualTo("r0");
    fleet.kill("r0");
    assertThat(fleet.router.decide(choices))
        .as("it may come back")
        .isEqualTo(
            new Refused(Role.REGULAR, new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0)));
  }

  @Test
  void aRequestWithoutComputationGoesToAnyWorker() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.HALVES_ONLY, 1, 1);
    SplitRequest count = request(1, SplitFacts.ofNoPrompt());

    assertThat(fleet.single(fleet.router.decide(count)).lease().worker().id()).isEqualTo("d0");
    fleet.kill("d0");
    assertThat(fleet.single(fleet.router.decide(count)).lease().worker().id()).isEqualTo("p0");
    fleet.kill("p0");
    assertThat(fleet.router.decide(count))
        .isEqualTo(new Refused(Role.DECODE, new Decision.Rejected(RejectReason.NONE_AVAILABLE, 0)));
  }

  @Test
  void withoutDecodeWorkersPrefillServesIfPermitted() {
    PdTestFleet fleet = new PdTestFleet(whole(true, true, false), 1, 0);
    Single single = fleet.single(fleet.router.decide(request(4)));

    assertThat(single.rule()).isEqualTo(SplitRule.NO_DECODE);
    assertThat(single.lease().worker().id()).isEqualTo("p0");
  }

  @Test
  void withoutDecodeWorkersTheRequestIsRefusedIfPrefillIsNotPermitted() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 0);

    assertThat(fleet.router.decide(request(4)))
        .isEqualTo(new Refused(Role.DECODE, new Decision.Rejected(RejectReason.NO_WORKERS, 0)));
  }

  @Test
  void aModelThatOnlyTheOtherRoleServesIsNotUnknown() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 0);
    fleet.workers.add(TestFleet.spec("r", "other"));

    assertThat(fleet.router.decide(request(4)))
        .isEqualTo(new Refused(Role.DECODE, new Decision.Rejected(RejectReason.NO_WORKERS, 0)));
  }

  @Test
  void whenPrefillIsFullTheRequestMustWait() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 0, 1);
    fleet.add("p", Role.PREFILL, 1);
    fleet.split(request(4));

    assertThat(fleet.router.decide(request(4)))
        .isEqualTo(new Refused(Role.PREFILL, new Decision.Rejected(RejectReason.ALL_BUSY, 0)));
    assertThat(fleet.inFlight()).isEqualTo(2);
  }

  @Test
  void whenPrefillIsFullDecodeServesIfConfigured() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, true), 0, 1);
    fleet.add("p", Role.PREFILL, 1);
    fleet.split(request(4));

    assertThat(fleet.placed(fleet.router.decide(request(4))).rule())
        .isEqualTo(SplitRule.NO_PREFILL);
  }

  @Test
  void whenDecodeIsFullNoPrefillIsWasted() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 0);
    fleet.add("d", Role.DECODE, 1);
    fleet.split(request(4));

    assertThat(fleet.router.decide(request(4)))
        .isEqualTo(new Refused(Role.DECODE, new Decision.Rejected(RejectReason.ALL_BUSY, 0)));
    assertThat(fleet.worker("p0").inFlight()).isEqualTo(1);
  }

  @Test
  void afterAFailedPrefillAnotherWorkerIsChosenAndThenDecodeAlone() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 2, 1);
    SplitRequest request = request(4);
    Split first = fleet.split(request);
    first.prefill().failed(Failure.ERROR);

    request.prefill().exclude(first.prefill().worker());
    SplitDecision next = fleet.router.prefillAgain(request, first.decode());
    Split second = (Split) fleet.placed(next);
    assertThat(second.prefill().worker()).isNotEqualTo(first.prefill().worker());
    assertThat(second.decode()).isSameAs(first.decode());
    second.prefill().failed(Failure.ERROR);

    request.prefill().exclude(second.prefill().worker());
    Single last = fleet.single(fleet.router.prefillAgain(request, second.decode()));
    assertThat(last.lease()).isSameAs(first.decode());
    assertThat(last.rule()).isEqualTo(SplitRule.PREFILL_FAILED);
    last.lease().succeeded();
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void aRequestRefusedByFullPrefillTouchesNoDecodeWorker() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 0, 1);
    fleet.add("p", Role.PREFILL, 1);
    fleet.split(request(4));
    int routed = fleet.routed;

    for (int i = 0; i < 10; i++) {
      assertThat(fleet.router.decide(request(4))).isInstanceOf(Refused.class);
    }
    assertThat(fleet.routed).isEqualTo(routed);
  }

  @Test
  void fullPrefillMakesNoRequestWaitWithoutDecodeWorkers() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 0, 1);
    fleet.add("p", Role.PREFILL, 1);
    fleet.split(request(4));
    fleet.add("r", Role.REGULAR, 0);
    fleet.worker("d0").drain(true);

    Single single = fleet.single(fleet.router.decide(request(4)));
    assertThat(single.rule()).isEqualTo(SplitRule.NO_DECODE);
    assertThat(single.lease().worker().id()).isEqualTo("r");
  }

  @Test
  void aRequestWaitsForABusyPrefillWorker() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 1);
    SplitRequest request = request(4);
    Split first = fleet.split(request);
    first.prefill().ignored();
    fleet.worker("p0").rest(1_000_000_000L);

    Refused refused = (Refused) fleet.router.prefillAgain(request, first.decode());
    assertThat(refused.missing()).isEqualTo(Role.PREFILL);
    assertThat(refused.rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.router.decide(request)).isEqualTo(refused);
  }

  @Test
  void aRequestBehindOthersUsesOnlyRolesWithoutAQueue() {
    PdTestFleet fleet = new PdTestFleet(threshold(100), 1, 1);
    Set<Role> decode = Set.of(Role.DECODE);
    assertThat(behind(fleet, 64, decode)).isEqualTo(Role.DECODE);
    assertThat(behind(fleet, 1, decode)).isEqualTo(Role.DECODE);
    fleet.add("r0", Role.REGULAR, 1);
    assertThat(behind(fleet, 64, decode)).isEqualTo(Role.DECODE);
    assertThat(aloneOn(fleet, decode)).isEqualTo("r0");
    assertThat(behind(fleet, 1, decode)).as("r0 is full").isEqualTo(Role.REGULAR);
    assertThat(behind(fleet, 1, Set.of(Role.REGULAR)))
        .as("a decode worker could also serve the waiting requests")
        .isEqualTo(Role.REGULAR);
    assertThat(fleet.inFlight()).isEqualTo(1);
    assertThat(fleet.rejected).isEmpty();
  }

  @Test
  void aRequestServedByDecodeAlonePassesThePrefillQueue() {
    PdTestFleet fleet =
        new PdTestFleet(new SplitSettings(100, 0, 0.9, 8, 0, true, false, false), 1, 1);
    Split first = fleet.split(request(64));
    first.prefill().succeeded();
    first.decode().succeeded();
    Set<Role> prefill = Set.of(Role.PREFILL);

    assertThat(behind(fleet, 80, prefill)).isEqualTo(Role.PREFILL);
    assertThat(aloneOn(fleet, prefill)).isEqualTo("d0");
    Single alone = fleet.single(fleet.router.decideBehind(request(64), prefill));
    assertThat(alone.rule()).isEqualTo(SplitRule.CACHED_ON_DECODE);
    assertThat(behind(fleet, 64, Set.of(Role.PREFILL, Role.DECODE))).isEqualTo(Role.DECODE);
  }

  @Test
  void aRequestBehindThePrefillQueueIsStillServedWholeWithoutDecode() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 1);
    fleet.add("r0", Role.REGULAR, 1);
    fleet.worker("d0").drain(true);

    Single single = fleet.single(fleet.router.decideBehind(request(4), Set.of(Role.PREFILL)));
    assertThat(single.rule()).isEqualTo(SplitRule.NO_DECODE);
    assertThat(single.lease().worker().id()).isEqualTo("r0");
  }

  private static Role behind(PdTestFleet fleet, int blocks, Set<Role> waited) {
    int before = fleet.inFlight();
    Refused refused = (Refused) fleet.router.decideBehind(request(blocks), waited);
    assertThat(refused.rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    assertThat(fleet.inFlight()).isEqualTo(before);
    return refused.missing();
  }

  private static String aloneOn(PdTestFleet fleet, Set<Role> waited) {
    return fleet.single(fleet.router.decideBehind(request(1), waited)).lease().worker().id();
  }

  @Test
  void afterAFailedDecodeAnotherWorkerIsChosen() {
    PdTestFleet fleet = new PdTestFleet(whole(true, false, false), 1, 2);
    SplitRequest request = request(4);
    Split first = fleet.split(request);
    first.prefill().succeeded();
    first.decode().failed(Failure.CONNECT);

    request.decode().exclude(first.decode().worker());
    Single second = fleet.single(fleet.router.decodeAgain(request));
    assertThat(second.lease().worker()).isNotEqualTo(first.decode().worker());
    second.lease().failed(Failure.CONNECT);
    request.decode().exclude(second.lease().worker());
    assertThat(fleet.router.decodeAgain(request)).isInstanceOf(Refused.class);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void everyLeaseIsReportedOnce() {
    PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 1);
    Split split = fleet.split(request(4));
    split.prefill().succeeded();
    split.decode().succeeded();

    assertThat(fleet.routed).isEqualTo(2);
    assertThat(fleet.settled).isEqualTo(2);
  }
}
