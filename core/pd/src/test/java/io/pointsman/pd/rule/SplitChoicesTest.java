package io.pointsman.pd.rule;

import static io.pointsman.pd.rule.PdTestFleet.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.choice.LeaseResult;
import io.pointsman.engine.choice.LeaseResult.Kind;
import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.pd.choice.SplitChoice;
import io.pointsman.pd.choice.SplitChoices;
import io.pointsman.pd.peer.BlockReceiver;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SplitChoicesTest {
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final ProtocolSettings WITH_RECEIVER =
      ProtocolSettings.DEFAULTS.withReceiver(new BlockReceiver("h", List.of(1), List.of(2)));

  private final PdTestFleet fleet = new PdTestFleet(SplitSettings.DEFAULTS, 1, 2);
  private final Choices choices = choices(fleet, ExternalLeaseSettings.DEFAULTS);

  private static Choices choices(PdTestFleet fleet, ExternalLeaseSettings settings) {
    return new Choices(fleet.engine, settings, fleet.workers::now, fleet.workers.random);
  }

  private static SplitChoices split(PdTestFleet fleet, Choices choices, String protocol) {
    return new SplitChoices(
        choices,
        fleet.router,
        Protocols.create(protocol, _ -> Peer.UNKNOWN, WITH_RECEIVER, fleet.workers::now).protocol(),
        fleet.workers.random);
  }

  private static SplitChoices.Asked asked(int blocks) {
    return new SplitChoices.Asked(request(blocks), "/v1/completions", "id-1");
  }

  private SplitChoice.Two two() {
    if (split(fleet, choices, "nixl").choose(asked(4), TTL) instanceof SplitChoice.Two two) {
      return two;
    }
    throw new AssertionError("not split");
  }

  private static String lease(SplitChoice.Two two) {
    if (two.lease() == null) {
      throw new AssertionError("not held");
    }
    return two.lease();
  }

  private LeaseResult settle(String lease, Outcome outcome) {
    return choices.settle(lease, outcome, TokenCounts.NONE);
  }

  @Test
  void responsesOfProxiesAreNotObserved() {
    SplitChoices.Asked chosen = asked(4);
    SplitChoices.Asked pointed = asked(4);

    split(fleet, choices, "nixl").choose(chosen, TTL);
    split(fleet, choices, "nixl").point(pointed);

    for (SplitChoices.Asked each : List.of(chosen, pointed)) {
      SplitRequest request = each.request();
      assertThat(request.whole().observed() || request.wholeByPrefill().observed()).isFalse();
      assertThat(request.prefill().observed() || request.decode().observed()).isFalse();
    }
  }

  @Test
  void oneLeaseCoversBothWorkers() {
    SplitChoice.Two two = two();

    assertThat(two.prefill().id()).isEqualTo("p0");
    assertThat(two.plan()).isInstanceOf(PdPlan.Sequential.class);
    assertThat(two.prefill().inFlight()).isEqualTo(1);
    assertThat(two.decode().inFlight()).isEqualTo(1);
    assertThat(two.prefill().reserved() + two.decode().reserved()).isEqualTo(2);
    assertThat(choices.open()).isEqualTo(1);

    assertThat(settle(lease(two), Outcome.SUCCEEDED).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.inFlight()).isZero();
    assertThat(two.prefill().served()).isEqualTo(1);
    assertThat(two.decode().served()).isEqualTo(1);
    assertThat(two.prefill().reserved() + two.decode().reserved()).isZero();
  }

  @Test
  void anEarlySettledLeaseHoldsNeitherWorker() {
    String id = "550e8400-e29b-41d4-a716-446655440000";
    SplitChoices split = split(fleet, choices, "nixl");
    assertThat(settle(id, Outcome.IGNORED).kind()).isEqualTo(Kind.UNKNOWN);

    SplitChoice late = split.choose(asked(4), new LeaseTerms(TTL, id));

    assertThat(late)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> assertThat(one.choice()).isEqualTo(new Choice.IdTaken(id, true)));
    assertThat(fleet.inFlight()).isZero();
    String other = id.replace('0', '1');
    assertThat(split.choose(asked(4), new LeaseTerms(TTL, other)))
        .isInstanceOfSatisfying(
            SplitChoice.Two.class, two -> assertThat(two.lease()).isEqualTo(other));
    assertThat(settle(other, Outcome.SUCCEEDED).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void prefillEndsByItselfAndOnce() {
    SplitChoice.Two two = two();

    LeaseResult first = choices.prefilled(lease(two), Outcome.SUCCEEDED);

    assertThat(first.kind()).isEqualTo(Kind.DONE);
    assertThat(first.expiresInNanos()).isEqualTo(TTL.toNanos());
    assertThat(two.prefill().inFlight()).isZero();
    assertThat(two.decode().inFlight()).isEqualTo(1);
    assertThat(choices.prefilled(lease(two), Outcome.SUCCEEDED).kind()).isEqualTo(Kind.REPEATED);
    assertThat(settle(lease(two), Outcome.SUCCEEDED).kind()).isEqualTo(Kind.DONE);
    assertThat(choices.prefilled(lease(two), Outcome.SUCCEEDED).kind()).isEqualTo(Kind.REPEATED);
    assertThat(fleet.settled).isEqualTo(2);
  }

  @Test
  void aFailureCountsForTheReportedWorker() {
    SplitChoice.Two one = two();
    choices.prefilled(lease(one), new Outcome.Failed(Failure.ERROR));
    settle(lease(one), Outcome.IGNORED);

    assertThat(one.prefill().failures()).isEqualTo(1);
    assertThat(one.decode().failures()).isZero();

    SplitChoice.Two other = two();
    settle(lease(other), new Outcome.Failed(Failure.ERROR));

    assertThat(other.prefill().failures()).as("prefill is not to blame").isEqualTo(1);
    assertThat(other.decode().failures()).isEqualTo(1);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void bothExpireTogetherUnlessRenewed() {
    String lease = lease(two());
    fleet.workers.clock.advance(TTL.minusNanos(1));
    assertThat(choices.renew(lease, TTL).kind()).isEqualTo(Kind.DONE);
    fleet.workers.clock.advance(TTL.minusNanos(1));
    assertThat(choices.expireDue()).isZero();
    assertThat(fleet.inFlight()).isEqualTo(2);

    fleet.workers.clock.advance(Duration.ofNanos(1));

    assertThat(choices.expireDue()).isEqualTo(1);
    assertThat(fleet.inFlight()).isZero();
    assertThat(choices.prefilled(lease, Outcome.SUCCEEDED).kind()).isEqualTo(Kind.UNKNOWN);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void confirmingALeaseOnADepartedWorkerEndsIt(boolean prefill) {
    SplitChoice.Two two = two();
    fleet.workers.fleet.remove((prefill ? two.prefill() : two.decode()).id());

    assertThat(choices.confirm(lease(two)).kind()).isEqualTo(Kind.WORKER_LEFT);
    assertThat(two.prefill().inFlight() + two.decode().inFlight()).isZero();
  }

  @Test
  void aPrefillWorkerMayLeaveWhenItsPartIsDone() {
    SplitChoice.Two two = two();
    choices.prefilled(lease(two), Outcome.SUCCEEDED);
    fleet.workers.fleet.remove(two.prefill().id());

    assertThat(choices.confirm(lease(two)).kind()).isEqualTo(Kind.DONE);
  }

  @Test
  void aRequestServedWholeHasNoPrefillToEnd() {
    SplitChoices split = split(fleet, choices, "nixl");
    SplitChoices.Asked several =
        new SplitChoices.Asked(request(4, PdTestFleet.facts(2, 64)), "/v1/completions", "id-1");

    SplitChoice choice = split.choose(several, TTL);

    assertThat(choice)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> {
              assertThat(one.rule()).isEqualTo(SplitRule.UNSPLITTABLE);
              assertThat(one.asked()).isSameAs(several.request().decode());
              assertThat(one.choice())
                  .isInstanceOfSatisfying(
                      Choice.Leased.class,
                      held ->
                          assertThat(choices.prefilled(held.lease(), Outcome.SUCCEEDED).kind())
                              .isEqualTo(Kind.NOT_SPLIT));
            });
    assertThat(fleet.inFlight()).isEqualTo(1);
  }

  @Test
  void aProtocolThatNotifiesTheRouterIsServedWhole() {
    SplitChoice choice = split(fleet, choices, "lmcache").choose(asked(4), TTL);

    assertThat(choice)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> {
              assertThat(one.needsRouter()).isTrue();
              assertThat(one.choice()).isInstanceOf(Choice.Leased.class);
            });
    assertThat(fleet.inFlight()).isEqualTo(1);
    assertThat(fleet.worker("p0").inFlight()).isZero();
  }

  @Test
  void aPairWithMissingDataIsNotUsed() {
    SplitChoice choice = split(fleet, choices, "moriio").choose(asked(4), TTL);

    assertThat(choice)
        .isInstanceOfSatisfying(
            SplitChoice.One.class, one -> assertThat(one.rule()).isEqualTo(SplitRule.NO_PREFILL));
    assertThat(fleet.inFlight()).isEqualTo(1);
  }

  @Test
  void aChoiceWithoutALeaseHoldsNothing() {
    SplitChoice choice = split(fleet, choices, "nixl").point(asked(4));

    assertThat(choice)
        .isInstanceOfSatisfying(
            SplitChoice.Two.class,
            two -> {
              assertThat(two.lease()).isNull();
              assertThat(two.expiresInNanos()).isZero();
            });
    assertThat(fleet.inFlight()).isZero();
    assertThat(choices.open()).isZero();
  }

  @Test
  void tooManyLeasesHoldNothing() {
    Choices few = choices(fleet, new ExternalLeaseSettings(1, TTL, TTL, TTL));
    SplitChoices split = split(fleet, few, "nixl");
    assertThat(split.choose(asked(4), TTL)).isInstanceOf(SplitChoice.Two.class);

    SplitChoice refused = split.choose(asked(4), TTL);

    assertThat(refused)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> assertThat(one.choice()).isInstanceOf(Choice.TooManyLeases.class));
    assertThat(fleet.inFlight()).isEqualTo(2);
  }

  @Test
  void aRefusalIsReportedOnce() {
    PdTestFleet none = new PdTestFleet(SplitSettings.DEFAULTS, 0, 0);

    SplitChoice refused =
        split(none, choices(none, ExternalLeaseSettings.DEFAULTS), "nixl").point(asked(4));

    assertThat(refused)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> assertThat(one.choice()).isInstanceOf(Choice.Refused.class));
    assertThat(none.rejected).containsExactly(RejectReason.NO_WORKERS);
  }

  @Test
  void previewHoldsNothing() {
    SplitChoices.Asked asked = asked(4);

    SplitChoice shown = split(fleet, choices, "nixl").preview(asked);

    assertThat(shown)
        .isInstanceOfSatisfying(SplitChoice.Two.class, two -> assertThat(two.lease()).isNull());
    assertThat(asked.request().decode().explained()).isTrue();
    assertThat(fleet.inFlight()).isZero();
    assertThat(choices.open()).isZero();

    SplitChoice whole = split(fleet, choices, "lmcache").preview(asked(4));
    assertThat(whole)
        .isInstanceOfSatisfying(
            SplitChoice.One.class,
            one -> assertThat(one.choice()).isInstanceOf(Choice.Pointed.class));
    assertThat(fleet.inFlight()).isZero();
  }
}
