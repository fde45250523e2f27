package io.pointsman.engine.choice;

import static io.pointsman.engine.choice.ChoiceFleet.TTL;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.Requests;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.choice.LeaseResult.Kind;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.StallSettings;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChoicesTest {
  private static final Duration NANO = Duration.ofNanos(1);

  @Test
  void aLeaseIsLoadUntilItIsSettled() {
    ChoiceFleet fleet = ChoiceFleet.of("least_load", 2);

    Choice.Leased first = fleet.held();
    Choice.Leased second = fleet.held();

    assertThat(second.worker()).isNotEqualTo(first.worker());
    assertThat(fleet.inFlight()).isEqualTo(2);
    assertThat(fleet.choices.open()).isEqualTo(2);
    assertThat(fleet.choices.settle(first.lease(), Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.DONE);
    assertThat(first.worker().inFlight()).isZero();
    assertThat(first.worker().served()).isEqualTo(1);
    assertThat(second.worker().inFlight()).isEqualTo(1);
  }

  @Test
  void aLowerLimitEndsNoLeaseAndReleasesItsEntryAfterTheEnd() {
    ChoiceFleet fleet = new ChoiceFleet("random", 1, limits(2_000));
    List<String> held = new ArrayList<>();
    for (int i = 0; i < 1_500; i++) {
      held.add(fleet.held().lease());
    }
    fleet.choices.use(limits(1));

    assertThat(fleet.choices.choose(Requests.bare(), TTL)).isInstanceOf(Choice.TooManyLeases.class);
    assertThat(fleet.choices.expireDue()).isZero();
    String last = held.getLast();
    assertThat(fleet.choices.renew(last, TTL).kind()).isEqualTo(Kind.DONE);
    held.forEach(
        lease ->
            assertThat(fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
                .isEqualTo(Kind.DONE));
    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.choices.renew(last, TTL).kind()).isEqualTo(Kind.REPEATED);

    fleet.choices.expireDue();

    assertThat(fleet.choices.renew(last, TTL).kind()).isEqualTo(Kind.UNKNOWN);
    fleet.held();
    assertThat(fleet.choices.choose(Requests.bare(), TTL)).isInstanceOf(Choice.TooManyLeases.class);
    fleet.choices.use(limits(1_000));
    for (int i = 1; i < 1_000; i++) {
      fleet.held();
    }
    assertThat(fleet.inFlight()).isEqualTo(1_000);
  }

  private static ExternalLeaseSettings limits(int leases) {
    return new ExternalLeaseSettings(leases, TTL, TTL, Duration.ofHours(1));
  }

  @Test
  void clientsThatLeaveWithoutAByteStallTheirWorker() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Worker worker = fleet.held().worker();
    for (int i = 0; i < 5; i++) {
      assertThat(worker.stalled()).isFalse();
      Choice.Leased held = fleet.held();
      fleet.pass(Duration.ofSeconds(6));
      fleet.choices.settle(
          held.lease(), Outcome.IGNORED, new EndReport(TokenCounts.NONE, null, true));
    }
    assertThat(worker.stalled()).isTrue();

    Choice.Leased next = fleet.held();
    fleet.choices.firstToken(next.lease());
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void aLeaseIsSettledOnceAndThenReportedAsRepeated() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    String lease = fleet.held().lease();

    fleet.choices.settle(lease, Outcome.IGNORED, TokenCounts.NONE);

    assertThat(fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.REPEATED);
    assertThat(fleet.choices.renew(lease, TTL).kind()).isEqualTo(Kind.REPEATED);
    assertThat(fleet.settled).containsExactly(Outcome.IGNORED);
    assertThat(fleet.inFlight()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-", "0-0", "x", "0", "-1-1", "zzzzzzzzzzzzzzzzz-1", "0-", "0--1"})
  void anIdThatWasNeverAssignedIsUnknown(String id) {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    fleet.held();

    assertThat(fleet.choices.settle(id, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.UNKNOWN);
    assertThat(fleet.inFlight()).isEqualTo(1);
  }

  @Test
  void aFailureCountsAgainstItsWorker() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Choice.Leased held = fleet.held();

    fleet.choices.settle(held.lease(), new Outcome.Failed(Failure.CONNECT), TokenCounts.NONE);

    assertThat(held.worker().failures()).isEqualTo(1);
    assertThat(held.worker().health().healthy()).isFalse();
    assertThat(fleet.choices.tally().failed()).isEqualTo(1);
  }

  @Test
  void aThousandAbandonedLeasesExpireAndNoneBeforeItsTime() {
    ChoiceFleet fleet = ChoiceFleet.of("least_load", 8);
    List<Choice.Leased> held = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      held.add(fleet.held(Requests.bare(), Duration.ofMillis(1 + i)));
    }

    for (int i = 0; i < 1000; i++) {
      fleet.pass(Duration.ofMillis(1).minus(NANO));
      assertThat(fleet.choices.expireDue()).as("before the report of %d", i).isZero();
      assertThat(fleet.inFlight()).isEqualTo(1000 - i);
      fleet.pass(NANO);
      assertThat(fleet.choices.expireDue()).as("at the report of %d", i).isEqualTo(1);
    }

    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.choices.open()).isZero();
    assertThat(fleet.choices.tally().expired()).isEqualTo(1000);
    assertThat(fleet.settled).hasSize(1000).containsOnly(Outcome.EXPIRED);
    assertThat(held)
        .allSatisfy(
            each ->
                assertThat(fleet.choices.settle(each.lease(), Outcome.SUCCEEDED, TokenCounts.NONE))
                    .isEqualTo(LeaseResult.UNKNOWN));
  }

  @Test
  void anOverdueLeaseIsUnknownEvenBeforeTheExpiryCheck() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    String lease = fleet.held().lease();
    fleet.pass(TTL);

    assertThat(fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.UNKNOWN);
    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.settled).containsExactly(Outcome.EXPIRED);
    assertThat(fleet.choices.expireDue()).isZero();
  }

  @Test
  void aRenewalCountsFromItsOwnTime() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    String lease = fleet.held().lease();

    for (int i = 0; i < 10; i++) {
      fleet.pass(TTL.minus(NANO));
      fleet.choices.expireDue();
      assertThat(fleet.choices.renew(lease, TTL).expiresInNanos()).isEqualTo(TTL.toNanos());
    }

    fleet.pass(TTL);
    assertThat(fleet.choices.expireDue()).isEqualTo(1);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void renewalsEndAtTheMaximumLifetime() {
    ExternalLeaseSettings settings = new ExternalLeaseSettings(8, TTL, TTL, Duration.ofSeconds(40));
    ChoiceFleet fleet = new ChoiceFleet("random", 1, settings);
    String lease = fleet.held().lease();
    fleet.pass(Duration.ofSeconds(20));

    assertThat(fleet.choices.renew(lease, TTL).expiresInNanos())
        .isEqualTo(Duration.ofSeconds(20).toNanos());
    fleet.pass(Duration.ofSeconds(20));
    assertThat(fleet.choices.renew(lease, TTL).kind()).isEqualTo(Kind.UNKNOWN);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void aFailingListenerBlocksNoLeaseAndNoOtherEnd() {
    ChoiceFleet fleet = new ChoiceFleet("random", 1, new ExternalLeaseSettings(8, TTL, TTL, TTL));
    Choice.Leased left = fleet.held();
    String settled = fleet.held().lease();
    fleet.held();
    fleet.held();
    fleet.defect = new NoSuchMethodError("of another version");

    assertThatThrownBy(() -> fleet.choices.settle(settled, Outcome.SUCCEEDED, TokenCounts.NONE))
        .isSameAs(fleet.defect);
    assertThat(fleet.choices.open()).isEqualTo(3);
    fleet.workers.fleet.remove(left.worker().id());
    assertThatThrownBy(() -> fleet.choices.confirm(left.lease())).isSameAs(fleet.defect);
    assertThat(fleet.choices.open()).isEqualTo(2);

    fleet.pass(TTL);
    assertThatThrownBy(fleet.choices::expireDue).isSameAs(fleet.defect);
    assertThat(fleet.choices.open()).isEqualTo(1);
    fleet.defect = null;
    assertThat(fleet.choices.expireDue()).as("what the failure left").isEqualTo(1);

    assertThat(fleet.choices.open()).isZero();
    assertThat(fleet.choices.tally().succeeded()).isEqualTo(1);
    assertThat(fleet.choices.tally().ignored()).isEqualTo(1);
    assertThat(fleet.choices.tally().expired()).isEqualTo(2);
    assertThat(left.worker().inFlight()).isZero();
  }

  @Test
  void aRequestIsConfirmedOnce() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    String lease = fleet.held().lease();

    assertThat(fleet.choices.confirm(lease).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.choices.confirm(lease).kind()).isEqualTo(Kind.REPEATED);
    assertThat(fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.DONE);
  }

  @Test
  void aLeaseOnADepartedWorkerCannotBeConfirmed() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Choice.Leased held = fleet.held();
    fleet.workers.fleet.remove(held.worker().id());

    assertThat(fleet.choices.confirm(held.lease()).kind()).isEqualTo(Kind.WORKER_LEFT);
    assertThat(fleet.choices.open()).isZero();
    assertThat(fleet.settled).containsExactly(Outcome.IGNORED);
    assertThat(fleet.choices.confirm(held.lease()).kind()).isEqualTo(Kind.REPEATED);
  }

  @Test
  void anOwnerHoldsNoMoreThanItsShare() {
    ExternalLeaseSettings settings = new ExternalLeaseSettings(4, TTL, TTL, TTL, 0.5, 1);
    ChoiceFleet fleet = new ChoiceFleet("random", 1, settings);
    LeaseTerms greedy = new LeaseTerms(TTL, null, "greedy");
    String first = lease(fleet.choices.choose(Requests.bare(), greedy));
    lease(fleet.choices.choose(Requests.bare(), greedy));

    assertThat(fleet.choices.choose(Requests.bare(), greedy))
        .isInstanceOf(Choice.TooManyLeases.class);
    LeaseTerms other = new LeaseTerms(TTL, null, "other");
    lease(fleet.choices.choose(Requests.bare(), other));

    fleet.choices.settle(first, Outcome.IGNORED, TokenCounts.NONE);
    lease(fleet.choices.choose(Requests.bare(), greedy));
    fleet.pass(TTL.plus(NANO));
    fleet.choices.expireDue();
    assertThat(fleet.choices.open()).isZero();
    for (int i = 0; i < 2; i++) {
      lease(fleet.choices.choose(Requests.bare(), greedy));
      lease(fleet.choices.choose(Requests.bare(), other));
    }
    assertThat(fleet.choices.open()).isEqualTo(4);
  }

  private static String lease(Choice choice) {
    return ((Choice.Leased) choice).lease();
  }

  @Test
  void leasesBeyondTheMaximumAreRefusedUntilOneEnds() {
    ChoiceFleet fleet = new ChoiceFleet("random", 1, new ExternalLeaseSettings(3, TTL, TTL, TTL));
    String first = fleet.held().lease();
    fleet.held();
    fleet.pass(Duration.ofSeconds(10));
    fleet.held();

    assertThat(fleet.choices.choose(Requests.bare(), TTL))
        .isEqualTo(new Choice.TooManyLeases(Duration.ofSeconds(20).toNanos()));
    assertThat(fleet.inFlight()).isEqualTo(3);
    assertThat(fleet.choices.tally().refused()).isEqualTo(1);
    fleet.choices.settle(first, Outcome.SUCCEEDED, TokenCounts.NONE);
    assertThat(fleet.held().worker().inFlight()).isEqualTo(3);
  }

  @Test
  void manyMoreLeasesThanEntriesPassAndIdsAreNeverReused() {
    ChoiceFleet fleet = new ChoiceFleet("random", 1, new ExternalLeaseSettings(3, TTL, TTL, TTL));
    String kept = fleet.held().lease();
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < 1000; i++) {
      String lease = fleet.held().lease();
      ids.add(lease);
      fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE);
    }

    assertThat(ids).hasSize(1000).doesNotContain(kept);
    assertThat(fleet.choices.settle(kept, Outcome.SUCCEEDED, TokenCounts.NONE).kind())
        .isEqualTo(Kind.DONE);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void aChoiceWithoutALeaseIsNoLoadButTeachesThePolicy() {
    ChoiceFleet fleet = ChoiceFleet.of("cache_aware", 4);
    RoutingRequest first = Requests.prompt(77);

    Choice pointed = fleet.choices.point(first);

    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.choices.open()).isZero();
    Worker worker = ((Choice.Pointed) pointed).worker();
    for (int i = 0; i < 20; i++) {
      RoutingRequest again = Requests.prompt(77);
      assertThat(fleet.choices.point(again)).isEqualTo(new Choice.Pointed(worker));
      assertThat(again.result().reason()).isEqualTo(PickReason.PREFIX_HIT);
    }
  }

  @Test
  void cachedPromptsAttractEqualPromptsUntilTheirWorkerIsBusy() {
    ChoiceFleet fleet = ChoiceFleet.of("cache_aware", 8);
    Worker first = fleet.held(Requests.prompt(5), TTL).worker();
    for (int i = 1; i < 12; i++) {
      assertThat(fleet.held(Requests.prompt(5), TTL).worker()).isEqualTo(first);
    }

    assertThat(fleet.held(Requests.prompt(5), TTL).worker()).isNotEqualTo(first);
  }

  @Test
  void withNoWorkerThereIsNoLease() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    fleet.workers.kill(fleet.workers.worker(0));

    Choice choice = fleet.choices.choose(Requests.bare(), TTL);

    assertThat(((Choice.Refused) choice).rejection().reason())
        .isEqualTo(RejectReason.NONE_AVAILABLE);
    assertThat(fleet.choices.open()).isZero();
  }

  @Test
  void aWorkersLimitAppliesToExternalLeasesToo() {
    ChoiceFleet fleet = new ChoiceFleet("least_load", 0, ExternalLeaseSettings.DEFAULTS);
    fleet.workers.add(TestFleet.spec("w", TestFleet.MODEL).withMaxInFlight(2));
    String first = fleet.held().lease();
    fleet.held();

    Choice third = fleet.choices.choose(Requests.bare(), TTL);

    assertThat(((Choice.Refused) third).rejection().reason()).isEqualTo(RejectReason.ALL_BUSY);
    fleet.choices.settle(first, Outcome.SUCCEEDED, TokenCounts.NONE);
    assertThat(fleet.held().worker().id()).isEqualTo("w");
  }

  @Test
  void leasedRequestsNeedNoProgress() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Worker worker = fleet.held(Requests.bare(), Duration.ofMinutes(9)).worker();
    for (int i = 0; i < 7; i++) {
      fleet.choices.confirm(fleet.held(Requests.bare(), Duration.ofMinutes(9)).lease());
    }

    fleet.pass(StallSettings.DEFAULTS.maxPatience().multipliedBy(3));
    fleet.workers.fleet.checkStalls();

    assertThat(worker.inFlight()).isEqualTo(8);
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void aLeaseDoesNotHideAStalledStream() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Worker worker = fleet.held(Requests.bare(), Duration.ofMinutes(9)).worker();
    fleet.engine.decide(Requests.bare());

    fleet.pass(StallSettings.DEFAULTS.maxPatience().multipliedBy(3));
    fleet.workers.fleet.checkStalls();

    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void responsesOfProxiesAreNotObserved() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    RoutingRequest chosen = Requests.bare();
    RoutingRequest pointed = Requests.bare();
    assertThat(chosen.observed() && pointed.observed()).isTrue();

    fleet.choices.choose(chosen, TTL);
    fleet.choices.point(pointed);

    assertThat(chosen.observed() || pointed.observed()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, 600_001})
  void aDurationOutOfItsRangeIsRefused(long millis) {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    Duration ttl = Duration.ofMillis(millis);

    assertThatThrownBy(() -> fleet.choices.choose(Requests.bare(), ttl))
        .hasMessageContaining("ttl: ");
    String lease = fleet.held().lease();
    assertThatThrownBy(() -> fleet.choices.renew(lease, ttl)).hasMessageContaining("ttl: ");
    assertThat(fleet.inFlight()).isEqualTo(1);
  }

  @Test
  void reportedTokensAreCounted() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    String lease = fleet.held().lease();

    fleet.choices.settle(lease, Outcome.SUCCEEDED, new TokenCounts(100, 60, 7));
    fleet.choices.settle(lease, Outcome.SUCCEEDED, new TokenCounts(100, 60, 7));

    ExternalLeaseTally tally = fleet.choices.tally();
    assertThat(List.of(tally.promptTokens(), tally.cachedTokens(), tally.completionTokens()))
        .containsExactly(100L, 60L, 7L);
    assertThat(fleet.usages).containsExactly(new Usage(100, 60, 7));
    assertThatThrownBy(() -> new TokenCounts(1, 2, 0)).hasMessageContaining("cached: 2");
  }

  @Test
  void unreportedTokensAreNotCountedAsZero() {
    ChoiceFleet fleet = ChoiceFleet.of("random", 1);
    TokenCounts promptAlone = new TokenCounts(100, TokenCounts.NOT_REPORTED, 0);
    fleet.choices.settle(fleet.held().lease(), Outcome.SUCCEEDED, promptAlone);
    fleet.choices.settle(fleet.held().lease(), Outcome.SUCCEEDED, new TokenCounts(100, 0, 7));
    fleet.choices.settle(fleet.held().lease(), Outcome.SUCCEEDED, TokenCounts.NONE);

    assertThat(fleet.usages)
        .containsExactly(new Usage(100, -1, -1), new Usage(100, 0, 7), Usage.UNKNOWN);
    assertThat(fleet.choices.tally().cachedTokens()).isZero();
  }

  @Test
  void aFirstTokenIsReportedWithoutExtendingTheLease() {
    ChoiceFleet fleet = ChoiceFleet.of("cost", 1);
    String lease = fleet.held().lease();
    fleet.pass(Duration.ofSeconds(10));

    assertThat(fleet.choices.firstToken(lease))
        .isEqualTo(fleet.choices.firstToken(lease))
        .isEqualTo(LeaseResult.goesOn(Duration.ofSeconds(20).toNanos()));
    fleet.choices.settle(lease, Outcome.SUCCEEDED, TokenCounts.NONE);
    assertThat(fleet.choices.firstToken(lease).kind()).isEqualTo(Kind.REPEATED);
    assertThat(fleet.choices.firstToken("1-2").kind()).isEqualTo(Kind.UNKNOWN);
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 86_400_001})
  void aTimeToFirstTokenOutOfItsRangeIsRefused(long millis) {
    Duration ttft = Duration.ofMillis(millis);

    assertThatThrownBy(() -> new EndReport(TokenCounts.NONE, ttft)).hasMessageContaining("ttft: ");
  }

  @Test
  void alternativesAreTheLeastLoadedOthers() {
    ChoiceFleet fleet = ChoiceFleet.of("least_load", 6);
    for (int i = 1; i < 6; i++) {
      fleet.workers.load(fleet.workers.worker(i), i);
    }
    fleet.workers.kill(fleet.workers.worker(2));
    RoutingRequest request = Requests.bare();
    Worker chosen = fleet.held(request, TTL).worker();

    assertThat(chosen.id()).isEqualTo("w0");
    assertThat(fleet.alternatives.of(request, chosen, 3).stream().map(Worker::id))
        .containsExactly("w1", "w3", "w4");
    assertThat(fleet.alternatives.of(request, chosen, 16)).hasSize(4);
    assertThat(fleet.alternatives.of(request, chosen, 0)).isEmpty();
  }

  @Test
  void alternativesOfAHashedKeyAreItsNextWorkers() {
    ChoiceFleet fleet = ChoiceFleet.of("consistent_hash", 6);
    RoutingRequest request = Requests.session("s");
    Worker chosen = requireNonNull(fleet.held(request, TTL).worker());

    List<Worker> next = fleet.alternatives.of(request, chosen, 2);

    fleet.workers.kill(chosen);
    assertThat(fleet.held(Requests.session("s"), TTL).worker()).isEqualTo(next.get(0));
    fleet.workers.kill(next.get(0));
    assertThat(fleet.held(Requests.session("s"), TTL).worker()).isEqualTo(next.get(1));
  }
}
