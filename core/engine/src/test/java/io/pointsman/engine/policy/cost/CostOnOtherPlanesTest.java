package io.pointsman.engine.policy.cost;

import static io.pointsman.engine.policy.cost.CostFleet.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.EndReport;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.choice.LeaseResult;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** {@code cost} with requests that do not pass through the router. */
class CostOnOtherPlanesTest {
  private static final Duration TTL = Duration.ofMinutes(1);
  private static final Offset<Double> SAME = within(1e-6);

  /** Twice as slow as the prior. */
  private static final Duration FIRST_TOKEN = Duration.ofMillis(700);

  private static final int BLOCKS = 150;

  private final CostFleet fleet = new CostFleet(1, CostSettings.DEFAULTS);
  private final Choices choices = choices(fleet);

  private static Choices choices(CostFleet of) {
    return new Choices(of.engine, ExternalLeaseSettings.DEFAULTS, of.fleet::now, of.fleet.random);
  }

  private static String leased(Choices choices, RoutingRequest request) {
    if (choices.choose(request, TTL) instanceof Choice.Leased leased) {
      return leased.lease();
    }
    throw new AssertionError("no lease");
  }

  private static EndReport after(Duration ttft) {
    return new EndReport(TokenCounts.NONE, ttft);
  }

  /** Prediction for a new prompt. */
  private static double expected(CostFleet of) {
    RoutingRequest fresh = request(Prompt.of(99_999, BLOCKS));
    of.place(fresh).ignored();
    return fresh.result().predictedMillis();
  }

  /** Consecutive requests that end long after their first token. */
  private interface Way {
    void serve(CostFleet on, Choices choices, int round);
  }

  private static double learned(Way way) {
    CostFleet of = new CostFleet(1, CostSettings.DEFAULTS);
    Choices choices = choices(of);
    for (int i = 0; i < 300; i++) {
      way.serve(of, choices, i);
      of.fleet.clock.advance(Duration.ofSeconds(1));
    }
    return expected(of);
  }

  private static void builtIn(CostFleet on, Choices choices, int round) {
    Lease lease = on.place(Prompt.of(round, BLOCKS));
    on.fleet.clock.advance(FIRST_TOKEN);
    lease.firstToken();
    on.fleet.clock.advance(Duration.ofSeconds(4));
    lease.succeeded();
  }

  private static void atOnce(CostFleet on, Choices choices, int round) {
    String lease = leased(choices, request(Prompt.of(round, BLOCKS)));
    on.fleet.clock.advance(FIRST_TOKEN);
    choices.firstToken(lease);
    on.fleet.clock.advance(Duration.ofSeconds(4));
    choices.settle(lease, Outcome.SUCCEEDED, EndReport.NONE);
  }

  private static void atTheEnd(CostFleet on, Choices choices, int round) {
    String lease = leased(choices, request(Prompt.of(round, BLOCKS)));
    on.fleet.clock.advance(FIRST_TOKEN.plusSeconds(4));
    choices.settle(lease, Outcome.SUCCEEDED, after(FIRST_TOKEN));
  }

  private static void unreported(CostFleet on, Choices choices, int round) {
    String lease = leased(choices, request(Prompt.of(round, BLOCKS)));
    on.fleet.clock.advance(FIRST_TOKEN.plusSeconds(4));
    choices.settle(lease, Outcome.SUCCEEDED, EndReport.NONE);
  }

  @Test
  void firstTokensTeachTheSameFromAnyReporterAtAnyTime() {
    double known = learned(CostOnOtherPlanesTest::builtIn);

    assertThat(known).isBetween(600.0, 800.0);
    assertThat(learned(CostOnOtherPlanesTest::atOnce)).isEqualTo(known, SAME);
    assertThat(learned(CostOnOtherPlanesTest::atTheEnd)).isEqualTo(known, SAME);
    assertThat(learned(CostOnOtherPlanesTest::unreported)).isLessThan(0.8 * known);
  }

  /**
   * One to four requests at a time, computed one after the other. The last one ends first and is
   * reported then.
   */
  private static void burst(CostFleet on, Choices choices, int round, boolean byPlane) {
    int size = 1 + round % 4;
    List<String> leases = new ArrayList<>();
    List<Lease> direct = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      PrefixBlocks prompt = Prompt.of(4L * round + i, BLOCKS);
      if (byPlane) {
        leases.add(leased(choices, request(prompt)));
      } else {
        direct.add(on.place(prompt));
      }
    }
    for (int i = 0; i < size; i++) {
      on.fleet.clock.advance(FIRST_TOKEN);
      if (!byPlane) {
        direct.get(i).firstToken();
      }
    }
    for (int i = size - 1; i >= 0; i--) {
      on.fleet.clock.advance(Duration.ofSeconds(1));
      if (byPlane) {
        choices.settle(leases.get(i), Outcome.SUCCEEDED, after(FIRST_TOKEN.multipliedBy(i + 1)));
      } else {
        direct.get(i).succeeded();
      }
    }
  }

  @Test
  void firstTokensReportedOutOfOrderDoNotMislead() {
    double known = learned((on, choices, round) -> burst(on, choices, round, false));

    assertThat(learned((on, choices, round) -> burst(on, choices, round, true)))
        .isBetween(0.75 * known, 1.25 * known);
  }

  @Test
  void firstTokenThatNobodyExpectedCountsOnce() {
    String early = leased(choices, request(Prompt.of(1, 4000)));
    choices.firstToken(early);
    choices.firstToken(early);
    leased(choices, request(Prompt.of(2, 4000)));
    RoutingRequest next = request(Prompt.of(3, 10));
    fleet.place(next);

    // The second one counts as waiting; with the first counted twice, none would.
    assertThat(next.result().predictedMillis()).isGreaterThan(500);
  }

  @Test
  void aFirstTokenIsNeverLaterThanItsReport() {
    String lease = leased(choices, request(Prompt.of(1, BLOCKS)));
    fleet.fleet.clock.advance(Duration.ofMillis(100));

    LeaseResult answer = choices.settle(lease, Outcome.SUCCEEDED, after(Duration.ofHours(3)));

    assertThat(answer.kind()).isEqualTo(LeaseResult.Kind.DONE);
    assertThat(expected(fleet)).isLessThan(1000);
  }

  /** Most blocks of a prompt that any worker has. */
  private static int cached(CostFleet of, PrefixBlocks prompt) {
    RoutingRequest again = request(prompt);
    of.place(again).ignored();
    return again.result().knownBlocks();
  }

  /** A prompt placed by an external proxy, until {@code end} reports its end. */
  private int cachedAfter(Consumer<String> end) {
    PrefixBlocks prompt = Prompt.of(1, BLOCKS);
    String lease = leased(choices, request(prompt));
    end.accept(lease);
    assertThat(fleet.inFlight()).isZero();
    return cached(fleet, prompt);
  }

  private void pass(Duration time) {
    fleet.fleet.clock.advance(time);
  }

  @Test
  void aPromptSentByAnotherPlaneCountsAsCached() {
    CostFleet four = new CostFleet(4, CostSettings.DEFAULTS);
    Choice first = choices(four).point(request(Prompt.of(1, BLOCKS)));
    four.fleet.clock.advance(Duration.ofMinutes(1));

    assertThat(four.inFlight()).isZero();
    assertThat(cached(four, Prompt.of(1, BLOCKS))).isEqualTo(BLOCKS);
    for (int i = 0; i < 8; i++) {
      RoutingRequest next = request(Prompt.of(1, BLOCKS, 10 + i, 4));
      assertThat(choices(four).point(next)).isEqualTo(first);
    }
    assertThat(cached(four, Prompt.of(2, BLOCKS))).isZero();
  }

  @Test
  void anExpiredLeaseLeavesNeitherLoadNorPromptBehind() {
    int cached =
        cachedAfter(
            lease -> {
              pass(TTL);
              assertThat(choices.expireDue()).isEqualTo(1);
            });
    assertThat(cached).isZero();
    assertThat(expected(fleet)).isEqualTo(expected(new CostFleet(1, CostSettings.DEFAULTS)), SAME);
  }

  @Test
  void aPromptThatWasGivenUpCountsNotAsEvicted() {
    cachedAfter(
        lease -> {
          pass(TTL);
          choices.expireDue();
        });
    fleet.served(Prompt.of(1, BLOCKS), 0);

    assertThat(fleet.lost.tokens(CacheMiss.EVICTED)).isZero();
    assertThat(fleet.lost.tokens(CacheMiss.NEVER_SEEN)).isEqualTo(16 * BLOCKS);
  }

  @Test
  void aPromptWhoseFirstTokenCameOutlivesItsLease() {
    int cached =
        cachedAfter(
            lease -> {
              choices.firstToken(lease);
              pass(TTL);
              choices.expireDue();
            });
    assertThat(cached).isEqualTo(BLOCKS);
  }

  @Test
  void theComputedPartOfAnIgnoredRequestCounts() {
    assertThat(cachedAfter(lease -> settle(lease, Outcome.IGNORED))).isZero();
    int late =
        cachedAfter(
            lease -> {
              pass(Duration.ofSeconds(5));
              settle(lease, Outcome.IGNORED);
            });
    assertThat(late).isEqualTo(BLOCKS);
  }

  @Test
  void ofAnIgnoredRequestThatWasCountedThePromptStands() {
    TokenCounts counts = new TokenCounts(16 * BLOCKS, TokenCounts.NOT_REPORTED, 3);

    assertThat(cachedAfter(lease -> choices.settle(lease, Outcome.IGNORED, counts)))
        .isEqualTo(BLOCKS);
  }

  @Test
  void anErrorOfTheClientsHasComputedNothingHoweverLateItComes() {
    int cached =
        cachedAfter(
            lease -> {
              pass(Duration.ofSeconds(5));
              settle(lease, Outcome.REFUSED);
            });
    assertThat(cached).isZero();
    assertThat(fleet.lost.promptTokens()).isZero();
  }

  private void settle(String lease, Outcome outcome) {
    choices.settle(lease, outcome, EndReport.NONE);
  }

  @Test
  void aThousandLeasesOfADeadPlaneLeaveNothingBehind() {
    CostFleet eight = new CostFleet(8, CostSettings.DEFAULTS);
    Choices plane = choices(eight);
    for (int i = 0; i < 1000; i++) {
      leased(plane, request(Prompt.of(i, BLOCKS)));
    }
    assertThat(eight.inFlight()).isEqualTo(1000);
    eight.fleet.clock.advance(TTL.minusNanos(1));
    assertThat(plane.expireDue()).isZero();
    eight.fleet.clock.advance(Duration.ofNanos(1));

    assertThat(plane.expireDue()).isEqualTo(1000);
    assertThat(eight.inFlight()).isZero();
    for (int i = 0; i < 1000; i++) {
      assertThat(cached(eight, Prompt.of(i, BLOCKS))).isZero();
    }
    assertThat(expected(eight)).isEqualTo(expected(new CostFleet(8, CostSettings.DEFAULTS)), SAME);
  }
}
