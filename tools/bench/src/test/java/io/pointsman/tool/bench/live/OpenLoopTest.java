package io.pointsman.tool.bench.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class OpenLoopTest {
  private static final Duration LONG = Duration.ofSeconds(100);

  private static TraceRequest request(double at, int follows) {
    return new TraceRequest(at, follows, 200, 3, new long[] {1});
  }

  private static Trace trace(TraceRequest... requests) {
    return new Trace("t", 512, List.of(requests));
  }

  @Test
  @Tag("full")
  void requestsAreSentOnScheduleAndFollowersAfterTheEnd() throws Exception {
    // The second request comes long after the first is computed, even on a slow machine.
    Trace trace = trace(request(0, -1), request(10_000, -1), request(100, 0));
    try (EngineFleet fleet = EngineFleet.start(1, 10_000, 2)) {
      String url = fleet.urls().getFirst();
      List<RequestTimes> timings = OpenLoop.play(trace, 2, LONG, _ -> url);

      assertThat(timings).extracting(RequestTimes::problem).containsOnly("");
      assertThat(timings).extracting(RequestTimes::index).containsExactly(0, 1, 2);
      RequestTimes first = timings.getFirst();
      assertThat(timings.get(1).due() - first.due()).isEqualTo(TimeUnit.SECONDS.toNanos(5));
      assertThat(timings.get(2).due() - first.end())
          .isGreaterThanOrEqualTo(TimeUnit.MILLISECONDS.toNanos(50));
      assertThat(timings)
          .allSatisfy(
              each -> {
                assertThat(each.sent()).isGreaterThanOrEqualTo(each.due());
                assertThat(each.first()).isGreaterThan(each.sent());
                assertThat(each.end()).isGreaterThanOrEqualTo(each.first());
                assertThat(each.promptTokens()).isEqualTo(200);
              });
      // The prompts are equal, so two of the three find all complete blocks of the first.
      assertThat(timings.stream().filter(each -> each.cachedTokens() == 192)).hasSize(2);
      assertThat(fleet.unused()).isZero();
    }
  }

  @Test
  void aRequestNotAnsweredWithinTheLimitIsAnError() throws Exception {
    Trace trace = trace(request(0, -1), request(100_000, -1), request(1, 0));
    try (ServerSocket silent = new ServerSocket(0, 10, InetAddress.getLoopbackAddress())) {
      String url = "http://127.0.0.1:" + silent.getLocalPort();
      List<RequestTimes> timings = OpenLoop.play(trace, 1, Duration.ofMillis(500), _ -> url);

      assertThat(timings)
          .extracting(RequestTimes::problem)
          .containsExactly(
              "not answered within the limit",
              "not sent within the limit",
              "not sent within the limit");
    }
  }

  @Test
  void anErrorShowsItsStatusLine() throws Exception {
    Trace trace = trace(new TraceRequest(0, -1, 50_000, 3, new long[] {1}));
    try (EngineFleet fleet = EngineFleet.start(1, 10_000, 2)) {
      String url = fleet.urls().getFirst();
      List<RequestTimes> timings = OpenLoop.play(trace, 2, LONG, _ -> url);

      assertThat(timings.getFirst().problem()).startsWith("HTTP/1.1 400 ");
    }
  }
}
