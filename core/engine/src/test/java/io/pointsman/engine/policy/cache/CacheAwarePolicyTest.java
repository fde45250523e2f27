package io.pointsman.engine.policy.cache;

import static io.pointsman.engine.policy.cache.CacheAwareFixture.request;
import static io.pointsman.engine.policy.cache.CacheAwareFixture.settings;
import static io.pointsman.engine.prefix.Prompts.prompt;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CacheAwarePolicyTest {
  @Test
  void promptFollowsItsPrefix() {
    CacheAwareFixture fleet = new CacheAwareFixture(8);
    Worker holder = fleet.teach(prompt("abcdefgh"));

    for (String longer : List.of("abcdefghXY", "abcdefghZ", "abcdefgh")) {
      RoutingRequest request = request(prompt(longer));
      Lease lease = fleet.place(request);

      assertThat(lease.worker()).isSameAs(holder);
      assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_HIT);
      assertThat(request.result().matchedBlocks()).isEqualTo(8);
    }
  }

  @Test
  void aLatePickerTakesNoSlotFromItsNextOwner() {
    CacheAwareFixture fleet = new CacheAwareFixture(1);
    int slots = FleetSettings.DEFAULTS.maxWorkers();
    PrefixLearner learner = new PrefixLearner(fleet.index, slots, fleet.clock.nanos());
    Pool stale = fleet.fleet.snapshot().pool(Role.REGULAR);
    learner.adopt(stale);
    Worker former = fleet.workers.getFirst();
    fleet.fleet.remove(former.id());
    learner.forget(former);
    Worker next = fleet.join("http://next:8000");
    assertThat(next.slot()).isEqualTo(former.slot());
    learner.adopt(fleet.fleet.snapshot().pool(Role.REGULAR));
    int epoch = fleet.index.epoch(next.slot());

    learner.adopt(stale);

    assertThat(fleet.index.epoch(next.slot())).isEqualTo(epoch);
    learner.forget(next);
    assertThat(fleet.index.epoch(next.slot())).isNotEqualTo(epoch);
  }

  @Test
  void identicalShortPromptsShareAWorker() {
    CacheAwareFixture fleet = new CacheAwareFixture(8);
    PrefixBlocks hello = PrefixBlocks.chain(0, new long[] {4711}, 1, 3, 16, 3);
    PrefixBlocks again = PrefixBlocks.chain(0, new long[] {4711}, 1, 3, 16, 3);

    assertThat(fleet.place(again).worker()).isSameAs(fleet.place(hello).worker());
  }

  @Test
  void matchAtTheThresholdIsNotEnough() {
    CacheAwareFixture fleet = new CacheAwareFixture(2, settings(0.5, 64, 1.5), 1);
    Worker holder = fleet.workers.getFirst();
    fleet.teach(holder, prompt("abcd"));
    fleet.load(holder, 1);

    RoutingRequest more = request(prompt("abcdXYZ"));
    assertThat(fleet.place(more).worker()).isSameAs(holder);
    assertThat(more.result().reason()).isEqualTo(PickReason.PREFIX_HIT);
    RoutingRequest half = request(prompt("abcdEFGH"));
    assertThat(fleet.place(half).worker()).isNotSameAs(holder);
    assertThat(half.result().reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void anIdleWorkerServesInPlaceOfABusyHolder() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    Worker holder = fleet.teach(prompt("abcdefgh"));
    fleet.load(holder, 5);
    Lease last = fleet.place(request(prompt("abcdefghX")));
    assertThat(last.worker()).as("5 in flight on the holder").isSameAs(holder);

    RoutingRequest next = request(prompt("abcdefghY"));
    Worker second = fleet.place(next).worker();
    assertThat(second).isNotSameAs(holder);
    assertThat(next.result().reason()).isEqualTo(PickReason.LOAD_IMBALANCE);
    Worker third = fleet.place(request(prompt("abcdefghZ"))).worker();
    assertThat(third).as("it holds the prefix now, with 1 in flight").isSameAs(second);
  }

  @Test
  void newPromptGoesToTheLeastLoaded() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    fleet.load(fleet.workers.get(0), 3);
    fleet.load(fleet.workers.get(1), 2);
    fleet.load(fleet.workers.get(2), 5);

    assertThat(fleet.place(prompt("new")).worker()).isSameAs(fleet.workers.get(1));
  }

  @Test
  void largeDifferenceAloneIsNoImbalance() {
    CacheAwareFixture fleet = new CacheAwareFixture(2, settings(0.3, 10, 2), 1);
    Worker holder = fleet.workers.getFirst();
    fleet.teach(holder, prompt("abcd"));
    fleet.load(holder, 40);
    fleet.load(fleet.workers.get(1), 20);

    assertThat(fleet.place(prompt("abcd")).worker()).isSameAs(holder);
  }

  @Test
  void largeRatioAloneIsNoImbalance() {
    CacheAwareFixture fleet = new CacheAwareFixture(2, settings(0.3, 10, 2), 1);
    Worker holder = fleet.workers.getFirst();
    fleet.teach(holder, prompt("abcd"));
    fleet.load(holder, 11);
    fleet.load(fleet.workers.get(1), 1);

    assertThat(fleet.place(prompt("abcd")).worker()).isSameAs(holder);
  }

  @Test
  void largeDifferenceAndRatioAreAnImbalance() {
    CacheAwareFixture fleet = new CacheAwareFixture(2, settings(0.3, 10, 2), 1);
    Worker holder = fleet.workers.getFirst();
    fleet.teach(holder, prompt("abcd"));
    fleet.load(holder, 11);

    RoutingRequest request = request(prompt("abcd"));
    assertThat(fleet.place(request).worker()).isNotSameAs(holder);
    assertThat(request.result().reason()).isEqualTo(PickReason.LOAD_IMBALANCE);
    assertThat(fleet.place(prompt("abcd")).worker()).isNotSameAs(holder);
  }

  @Test
  void loadOfIneligibleWorkersIsNoImbalance() {
    CacheAwareFixture fleet = new CacheAwareFixture(3, settings(0.3, 10, 2), 1);
    Worker holder = fleet.workers.getFirst();
    fleet.teach(holder, prompt("abcd"));
    fleet.load(fleet.workers.get(2), 50);
    fleet.workers.get(2).drain(true);

    assertThat(fleet.place(prompt("abcd")).worker()).isSameAs(holder);
  }

  @Test
  void leastLoadedHolderWins() {
    CacheAwareFixture fleet = new CacheAwareFixture(4);
    teachFirst(fleet, 3, prompt("abcd"));
    fleet.load(fleet.workers.get(0), 5);
    fleet.load(fleet.workers.get(1), 2);
    fleet.load(fleet.workers.get(2), 7);

    assertThat(fleet.place(prompt("abcdE")).worker()).isSameAs(fleet.workers.get(1));
  }

  @Test
  void leastLoadedOfManyHoldersWins() {
    CacheAwareFixture fleet = new CacheAwareFixture(40);
    teachFirst(fleet, 30, prompt("abcd"));
    for (int i = 0; i < 30; i++) {
      fleet.load(fleet.workers.get(i), i == 17 ? 2 : 3 + i % 5);
    }

    assertThat(fleet.place(prompt("abcdE")).worker()).isSameAs(fleet.workers.get(17));
  }

  @Test
  void equalHoldersAreChosenAtRandom() {
    CacheAwareFixture few = new CacheAwareFixture(4);
    teachFirst(few, 3, prompt("abcd"));
    assertThat(chosenInSixtyTries(few)).containsExactlyInAnyOrderElementsOf(first(few, 3));

    CacheAwareFixture many = new CacheAwareFixture(12);
    teachFirst(many, 9, prompt("abcd"));
    assertThat(chosenInSixtyTries(many)).containsExactlyInAnyOrderElementsOf(first(many, 9));
  }

  @Test
  void newPromptsSpreadOverIdleWorkersAtRandom() {
    CacheAwareFixture fleet = new CacheAwareFixture(5);
    Set<Worker> chosen = new HashSet<>();
    for (int i = 0; i < 60; i++) {
      chosen.add(fleet.teach(prompt(i, "abcd")));
    }
    assertThat(chosen).hasSize(5);
  }

  @Test
  void deadHolderIsSkippedForTheNextLongestPrefix() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    Worker longest = fleet.workers.get(0);
    Worker second = fleet.workers.get(1);
    fleet.teach(second, prompt("abcdef"));
    fleet.teach(longest, prompt("abcdefgh"));
    fleet.load(second, 2);
    longest.drain(true);

    RoutingRequest request = request(prompt("abcdefghij"));
    assertThat(fleet.place(request).worker()).isSameAs(second);
    assertThat(request.result().matchedBlocks()).isEqualTo(6);
  }

  @Test
  void deadOnlyHolderLeavesTheChoiceToLoad() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    Worker holder = fleet.teach(prompt("abcd"));
    holder.drain(true);

    RoutingRequest request = request(prompt("abcd"));
    assertThat(fleet.place(request).worker()).isNotSameAs(holder);
    assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void retryAvoidsTheTriedHolder() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    Worker holder = fleet.teach(prompt("abcd"));
    RoutingRequest request = request(prompt("abcd"));
    fleet.place(request).ignored();
    request.exclude(holder);

    Worker other = fleet.place(request).worker();
    assertThat(other).isNotSameAs(holder);
    request.exclude(other);
    assertThat(fleet.place(request).worker()).isNotIn(holder, other);
  }

  @Test
  void workerThatLeavesIsForgotten() {
    CacheAwareFixture fleet = new CacheAwareFixture(2);
    Worker holder = fleet.teach(prompt("abcd"));
    fleet.fleet.remove(holder.id());
    Worker next = fleet.join("http://next:8000");
    assertThat(next.slot()).isEqualTo(holder.slot());

    assertThat(fleet.index.match(prompt("abcd"))).isZero();
    RoutingRequest request = request(prompt("abcd"));
    fleet.place(request);
    assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void modelsDoNotSharePrefixes() {
    CacheAwareFixture fleet = new CacheAwareFixture(3);
    fleet.teach(prompt(1, "abcd"));

    RoutingRequest request = request(prompt(2, "abcd"));
    fleet.place(request);
    assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void requestWithoutPromptUsesLeastLoad() {
    CacheAwareFixture fleet = new CacheAwareFixture(2);
    fleet.load(fleet.workers.getFirst(), 1);

    RoutingRequest request = request(PrefixBlocks.NONE);
    assertThat(fleet.place(request).worker()).isSameAs(fleet.workers.get(1));
    assertThat(request.result().reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void identicalPromptFindsTheFirstOneInFlight() {
    CacheAwareFixture fleet = new CacheAwareFixture(4);
    Set<Worker> chosen = new HashSet<>();
    for (int sample = 0; sample < 8; sample++) {
      chosen.add(fleet.place(prompt("the same prompt for all samples")).worker());
    }
    assertThat(chosen).hasSize(1);
  }

  @Test
  void leaseContainsTheExpectedCachedTokens() {
    CacheAwareFixture fleet = new CacheAwareFixture(2);
    fleet.teach(prompt("abcdef"));

    Lease lease = fleet.place(prompt("abcdefgh"));
    assertThat(lease.promptTokens()).isEqualTo(128);
    assertThat(lease.cachedTokens()).isEqualTo(96);
  }

  private static void teachFirst(CacheAwareFixture fleet, int count, PrefixBlocks prompt) {
    first(fleet, count).forEach(worker -> fleet.teach(worker, prompt));
  }

  private static List<Worker> first(CacheAwareFixture fleet, int count) {
    return fleet.workers.subList(0, count);
  }

  private static Set<Worker> chosenInSixtyTries(CacheAwareFixture fleet) {
    List<Worker> chosen = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      chosen.add(fleet.teach(prompt("abcd")));
    }
    return new HashSet<>(chosen);
  }

  @Test
  void aMatchShorterThanTheLeastLengthCountsAsNone() {
    for (int least : new int[] {0, 1_000_000}) {
      CacheAwareFixture fleet =
          new CacheAwareFixture(2, new CacheAwareSettings(0, 64, 1.5, 1 << 20, least), 1);
      Worker holder = fleet.workers.getFirst();
      fleet.teach(holder, prompt("abcd"));
      fleet.load(holder, 1);

      RoutingRequest request = request(prompt("abcd"));
      assertThat(fleet.place(request).worker() == holder).isEqualTo(least == 0);
      assertThat(request.result().reason())
          .isEqualTo(least == 0 ? PickReason.PREFIX_HIT : PickReason.PREFIX_MISS);
    }
  }
}
