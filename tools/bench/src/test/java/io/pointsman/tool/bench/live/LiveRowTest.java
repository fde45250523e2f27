package io.pointsman.tool.bench.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

final class LiveRowTest {
  private static final long MILLI = 1_000_000;

  private static RequestTimes times(long ttftMillis, int prompt, int cached) {
    long due = 5 * MILLI;
    return new RequestTimes(
        0, due, due + MILLI, due + ttftMillis * MILLI, due + 100 * MILLI, prompt, cached, "");
  }

  private static LiveRow row(RequestTimes... timings) {
    LiveRow.Use use = new LiveRow.Use(0, 0, 0);
    return new LiveRow("c", "1", 2, List.of(timings), 1, use, null, List.of(), "");
  }

  @Test
  void timesAreTraceTimesSinceTheSchedule() {
    LiveRow row = row(times(30, 100, 0), times(10, 100, 50), times(20, 200, 50));

    assertThat(row.ttft().mean()).isEqualTo(40, within(1e-9));
    assertThat(row.ttft().at(0.5)).isEqualTo(40);
    assertThat(row.ttft().at(0.99)).isEqualTo(60);
    assertThat(row.late().mean()).isEqualTo(2, within(1e-9));
    assertThat(row.endToEnd().at(1)).isEqualTo(200);
    assertThat(row.hit()).isEqualTo(0.25);
  }

  @Test
  void errorsAreCountedAndExcludedFromOtherFigures() {
    RequestTimes cut = RequestTimes.failed(1, 0, "cut");
    LiveRow row = row(cut, times(10, 100, 50), RequestTimes.failed(2, 0, "503"), cut);

    assertThat(row.requests()).isEqualTo(1);
    assertThat(row.errors()).isEqualTo(3);
    assertThat(row.worstProblem()).isEqualTo("2 x cut");
    assertThat(row.ttft().mean()).isEqualTo(20, within(1e-9));
    assertThat(row.hit()).isEqualTo(0.5);
    assertThat(row().ttft().at(0.5)).isZero();
  }
}
