package io.pointsman.tool.bench.split;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.tool.bench.split.Rule.Kind;
import io.pointsman.tool.bench.split.RuleResult.Pair;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class PdSweepTest {
  private static RuleResult outcome(Kind kind, double ttft, double tokensPerSecond, long failures) {
    Pair pair = new Pair(ttft, ttft);
    Map<String, Long> failed = failures == 0 ? Map.of() : Map.of("status 503", failures);
    return new RuleResult(
        new Rule(kind, 1024), 10, failed, 50, pair, pair, pair, 10, tokensPerSecond, 0);
  }

  @Test
  void theSameSeedGivesTheSameSessionsOfBothKinds() {
    List<ClientSession> sessions = ClientSession.draw(20, 60, 3);
    assertThat(ClientSession.draw(20, 60, 3)).isEqualTo(sessions);
    assertThat(ClientSession.draw(20, 60, 4)).isNotEqualTo(sessions);
    assertThat(sessions)
        .hasSizeBetween(1000, 1400)
        .isSortedAccordingTo(Comparator.comparingDouble(ClientSession::startSeconds));
    double longShare =
        sessions.stream().filter(ClientSession::longText).count() / (double) sessions.size();
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
  void theCheckFailsIfUncachedIsWorseOrAnythingFailed() {
    RuleResult input = outcome(Kind.INPUT, 100, 1000, 0);
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 104, 990, 0)))).isTrue();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 106, 1000, 0)))).isFalse();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 90, 970, 0)))).isFalse();
    assertThat(PdSweep.holds(List.of(input, outcome(Kind.UNCACHED, 90, 1000, 1)))).isFalse();
  }

  @Test
  void failedSessionsAreCountedAndPrintedByReason() {
    Failures failures = new Failures();
    failures.add(new IOException("status 503: {}"));
    failures.add(new UncheckedIOException(new EOFException()));
    failures.add(new IOException("status 503: {}"));
    assertThat(failures.counts())
        .isEqualTo(Map.of("IOException: status 503: {}", 2L, "EOFException", 1L));

    for (int i = 0; i < 100; i++) {
      failures.add(new IOException("each another " + i));
    }
    assertThat(failures.counts()).hasSize(Failures.MOST_REASONS + 1);
    Pair none = new Pair(0, 0);
    RuleResult outcome =
        new RuleResult(
            new Rule(Kind.ALWAYS, 0), 0, failures.counts(), 0, none, none, none, 0, 0, 0);
    assertThat(outcome.failures()).isEqualTo(103);
    assertThat(PdSweep.reasons(outcome).lines())
        .hasSize(Failures.MOST_REASONS + 1)
        .startsWith("  86 failed: " + Failures.OTHERS, "  2 failed: IOException: status 503: {}");
  }

  @Test
  void anErrorContainsStatusAndBody() throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          byte[] error = "{\"error\":{\"code\":\"full\"}}".getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(503, error.length);
          exchange.getResponseBody().write(error);
          exchange.close();
        });
    server.start();
    String url = "http://127.0.0.1:" + server.getAddress().getPort();
    try (SessionClient client = new SessionClient(url, "m")) {
      assertThatThrownBy(() -> client.ask("a", 1))
          .isInstanceOf(IOException.class)
          .hasMessage("status 503: {\"error\":{\"code\":\"full\"}}");
    } finally {
      server.stop(0);
    }
  }

  /** A small, fast run; it checks which workers serve, not times. */
  @Test
  @Tag("full")
  void eachRuleSplitsItsRequests() throws InterruptedException {
    SweepOptions options = new SweepOptions(1, 1, 2, 4, 4, 5);
    RuleResult always = SweepRun.of(new Rule(Kind.ALWAYS, 0), options);
    RuleResult never = SweepRun.of(new Rule(Kind.NEVER, 0), options);
    RuleResult input = SweepRun.of(new Rule(Kind.INPUT, 4096), options);
    RuleResult uncached = SweepRun.of(new Rule(Kind.UNCACHED, 4096), options);
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
