package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class TimeLineTest {
  private static final double STAYED = Double.POSITIVE_INFINITY;

  private static ReplayedResponse served(double arrived, double placed, int engine, int tokens) {
    long at = Math.round(arrived * 1e9);
    long sent = Math.round(placed * 1e9);
    return new ReplayedResponse(at, sent, sent + 100_000_000, engine, tokens, Double.NaN);
  }

  private static ReplayedResponse served(double at, int engine, int tokens) {
    return served(at, at, engine, tokens);
  }

  @Test
  void shareIsRelativeToTheEnginesPresence() {
    List<Presence> engines =
        List.of(
            new Presence(0, 0, STAYED), new Presence(1, 0, STAYED), new Presence(2, 7.5, STAYED));
    TimeLine line =
        new TimeLine(
            engines,
            List.of(
                served(1, 0, 300),
                served(2, 1, 100),
                served(6, 0, 400),
                served(6, 1, 400),
                served(8, 2, 200)),
            10,
            5);

    assertThat(line.windows()).isEqualTo(2);
    assertThat(line.share(0, 0)).isCloseTo(1.5, within(1e-9));
    assertThat(line.share(1, 0)).isCloseTo(0.5, within(1e-9));
    assertThat(line.share(2, 0)).isNaN();
    // Half of the others' work, in half of the time.
    assertThat(line.share(2, 1)).isCloseTo(1, within(1e-9));
    assertThat(line.requests(0)).containsExactly(1, 1);
    assertThat(line.computedTokens(2)).containsExactly(0, 200);
  }

  @Test
  void returningEngineHasTwoPresences() {
    TimeLine line =
        new TimeLine(
            List.of(new Presence(0, 0, STAYED), new Presence(1, 0, 5), new Presence(1, 10, STAYED)),
            List.of(served(1, 1, 10), served(7, 0, 10), served(12, 2, 10)),
            15,
            5);

    assertThat(line.share(1, 0)).isCloseTo(2, within(1e-9));
    assertThat(line.share(1, 1)).isNaN();
    assertThat(line.share(0, 1)).isCloseTo(1, within(1e-9));
    assertThat(line.share(2, 1)).isNaN();
    assertThat(line.share(2, 2)).isCloseTo(2, within(1e-9));
  }

  @Test
  void timesCountFromTheArrivalAndWorkFromThePlacement() {
    TimeLine line =
        new TimeLine(
            List.of(new Presence(0, 0, STAYED)),
            List.of(served(4, 6, 0, 50), served(9, 0, 50)),
            20,
            5);

    assertThat(line.ttftMean(0)).isCloseTo(2100, within(1e-6));
    assertThat(line.ttftMean(1)).isCloseTo(100, within(1e-6));
    assertThat(line.ttftMean(2)).isNaN();
    assertThat(line.computedTokens(0)).containsExactly(0, 100, 0, 0);
  }

  @Test
  void windowsAreBounded() {
    TimeLine line =
        new TimeLine(List.of(new Presence(0, 0, STAYED)), List.of(served(9999, 0, 1)), 10_000, 1);

    assertThat(line.windowSeconds()).isEqualTo(16);
    assertThat(line.windows()).isEqualTo(625);
    assertThat(line.requests(0)[624]).isEqualTo(1);
    assertThatThrownBy(() -> new TimeLine(List.of(), List.of(), 1, 0))
        .hasMessage("window: 0.0 (expected: above 0)");
  }
}
