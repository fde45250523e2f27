package io.pointsman.bench.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.bench.split.Outcome.Pair;
import io.pointsman.bench.split.Rule.Kind;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class PdSweepTest {
  private static Outcome outcome(Kind kind, double ttft, double tokensPerSecond, long failures) {
    Pair pair = new Pair(ttft, ttft);
    return new Outcome(
        new Rule(kind, 1024), 10, failures, 50, pair, pair, pair, 10, tokensPerSecond, 0);
  }

  @Test
  void sessionsAreTheSameForTheSameSeedAndOfBothKinds() {
    List<Session> sessions = Session.draw(20, 60, 3);
    assertThat(Session.draw(20, 60, 3)).isEqualTo(sessions);
    assertThat(Session.draw(20, 60, 4)).isNotEqualTo(sessions);
    assertThat(sessions)
        .hasSizeBetween(1000, 1400)
        .isSortedAccordingTo(Comparator.comparingDouble(Session::startSeconds));
    double longShare =
        sessions.stream().filter(Session::longText).count() / (double) sessions.size();
    assertThat(longShare).isBetween(0.2, 0.3);
    assertThat(sessions)
        .allSatisfy(
            session -> {
              int first = session.turns().getFirst().words();
              if (session.longText()) {
                assertThat(first).isBetween(8192, 32_768);
              } else {
                assertThat(first).isBetween(100, 600);
              }
              assertThat(session.turns()).hasSizeBetween(1, 5);
            });
  }

  @Test
  void theCheckFailsWhereUncachedIsWorseOrAnythingFailed() {
    Outcome input = outcome(Kind.INPUT, 100, 1000, 0);
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 104, 990, 0)))).isTrue();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 106, 1000, 0)))).isFalse();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 90, 970, 0)))).isFalse();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 90, 1000, 1)))).isFalse();
  }

  /** Small, and quickly; what is compared is who served, not how fast. */
  @Test
  void eachRuleSplitsWhatItSays() throws InterruptedException {
    SweepOptions options = new SweepOptions(1, 1, 2, 4, 4, 5);
    Outcome always = SweepRun.of(new Rule(Kind.ALWAYS, 0), options);
    Outcome never = SweepRun.of(new Rule(Kind.NEVER, 0), options);
    Outcome input = SweepRun.of(new Rule(Kind.INPUT, 4096), options);
    Outcome uncached = SweepRun.of(new Rule(Kind.UNCACHED, 4096), options);
    assertThat(List.of(always, never, input, uncached))
        .allSatisfy(
            each -> {
              assertThat(each.failures()).as(each.toString()).isZero();
              assertThat(each.leaks()).as(each.toString()).isZero();
              assertThat(each.requests()).isEqualTo(always.requests()).isPositive();
            });
    assertThat(always.splitPercent()).isEqualTo(100);
    assertThat(never.splitPercent()).isZero();
    assertThat(uncached.splitPercent()).isLessThan(input.splitPercent());
    assertThat(input.splitPercent()).isBetween(1.0, 99.0);
  }
}
