package io.pointsman.engine.choice;

import static io.pointsman.engine.choice.ChoiceFleet.TTL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.Requests;
import io.pointsman.engine.choice.LeaseResult.Kind;
import io.pointsman.engine.fleet.Outcome;
import java.time.Duration;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Leases with ids from their proxies, which can settle them without having received the answer. */
@Timeout(120)
class NamedLeasesTest {
  private static final String ID = "550e8400-e29b-41d4-a716-446655440000";
  private static final Duration NANO = Duration.ofNanos(1);

  private final ChoiceFleet fleet = ChoiceFleet.of("least_load", 2);

  private static String id(int number) {
    return "plane-%032d".formatted(number);
  }

  private Choice choose(String id) {
    return fleet.choices.choose(Requests.bare(), new LeaseTerms(TTL, id));
  }

  private Kind settle(String id) {
    return fleet.choices.settle(id, Outcome.SUCCEEDED, TokenCounts.NONE).kind();
  }

  @Test
  void aLeaseHasTheIdFromItsProxy() {
    assertThat(choose(ID))
        .isInstanceOfSatisfying(
            Choice.Leased.class,
            held -> {
              assertThat(held.lease()).isEqualTo(ID);
              assertThat(held.expiresInNanos()).isEqualTo(TTL.toNanos());
            });
    fleet.pass(TTL.minus(NANO));
    assertThat(fleet.choices.renew(ID, TTL).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.choices.confirm(ID).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.choices.firstToken(ID).kind()).isEqualTo(Kind.DONE);
    assertThat(fleet.inFlight()).isEqualTo(1);

    assertThat(settle(ID)).isEqualTo(Kind.DONE);

    assertThat(settle(ID)).isEqualTo(Kind.REPEATED);
    assertThat(fleet.inFlight()).isZero();
    assertThat(fleet.settled).containsExactly(Outcome.SUCCEEDED);
  }

  @Test
  void anIdIsUsedOnce() {
    choose(ID);
    assertThat(choose(ID)).isEqualTo(new Choice.IdTaken(ID, false));

    settle(ID);
    assertThat(choose(ID)).isEqualTo(new Choice.IdTaken(ID, true));

    choose(id(1));
    fleet.pass(TTL);
    assertThat(choose(id(1))).isEqualTo(new Choice.IdTaken(id(1), false));
    assertThat(settle(id(1))).isEqualTo(Kind.UNKNOWN);
    assertThat(fleet.routed).as("nothing was decided for those refused").isEqualTo(2);
    assertThat(fleet.inFlight()).isZero();
  }

  @Test
  void aLeaseSettledBeforeItsChoiceIsNotOpen() {
    assertThat(settle(ID)).isEqualTo(Kind.UNKNOWN);

    assertThat(choose(ID)).isEqualTo(new Choice.IdTaken(ID, true));

    assertThat(fleet.routed).isZero();
    fleet.pass(EarlyEnds.KEPT.minus(NANO));
    assertThat(choose(ID)).isEqualTo(new Choice.IdTaken(ID, true));
    fleet.pass(NANO);
    assertThat(choose(ID)).isInstanceOf(Choice.Leased.class);
  }

  @Test
  void earlySettlementsAreBounded() {
    for (int i = 0; i <= EarlyEnds.MOST; i++) {
      settle(id(i));
    }

    assertThat(choose(id(0))).as("the first gave way").isInstanceOf(Choice.Leased.class);
    assertThat(choose(id(1))).isInstanceOf(Choice.IdTaken.class);
    assertThat(choose(id(EarlyEnds.MOST))).isInstanceOf(Choice.IdTaken.class);
  }

  @Test
  void anIdIsFreeAgainOnceItsEntryIsReused() {
    ChoiceFleet small =
        new ChoiceFleet("random", 1, new ExternalLeaseSettings(1, TTL, TTL, Duration.ofHours(1)));
    for (int i = 0; i < 3; i++) {
      assertThat(small.choices.choose(Requests.bare(), new LeaseTerms(TTL, id(i))))
          .isInstanceOf(Choice.Leased.class);
      small.choices.settle(id(i), Outcome.IGNORED, TokenCounts.NONE);
    }

    assertThat(small.choices.choose(Requests.bare(), new LeaseTerms(TTL, id(1))))
        .as("still remembered")
        .isInstanceOf(Choice.IdTaken.class);
    assertThat(small.choices.choose(Requests.bare(), new LeaseTerms(TTL, id(0))))
        .isInstanceOf(Choice.Leased.class);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "1-2",
        "123456789012345678901234567",
        "12345678901234567890123456789012345678901234567890123456789012345",
        "550e8400-e29b-41d4-a716-44665544000 ",
        "550e8400/e29b/41d4/a716/446655440000",
        "550e8400-e29b-41d4-a716-44665544000\u00fc"
      })
  void anIdOfAnotherFormIsRefused(String id) {
    assertThatThrownBy(() -> new LeaseTerms(TTL, id))
        .hasMessageStartingWith("lease: ")
        .hasMessageEndingWith("(expected: 28 to 64 letters, digits, - and _)");
  }

  @Test
  void aLeaseSettledDuringItsChoiceIsNotOpen() throws Exception {
    int rounds = 5_000;
    CyclicBarrier both = new CyclicBarrier(2);
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      Future<?> settling =
          threads.submit(
              () -> {
                for (int i = 0; i < rounds; i++) {
                  both.await();
                  settle(id(i));
                }
                return null;
              });
      Future<?> choosing =
          threads.submit(
              () -> {
                for (int i = 0; i < rounds; i++) {
                  both.await();
                  choose(id(i));
                }
                return null;
              });
      settling.get();
      choosing.get();
    }

    assertThat(fleet.choices.open()).isZero();
    assertThat(fleet.inFlight()).isZero();
  }
}
