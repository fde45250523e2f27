package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Scale;
import io.pointsman.tool.bench.chaos.ChaosReport;
import io.pointsman.tool.bench.chaos.ChaosRun;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A short run of {@code bench chaos}: one fault per second, with the router as a separate process.
 */
@Tag("full")
final class ChaosTest {
  private static final int SECONDS = Scale.of(10, 60);
  private static final int RATE = Scale.of(60, 300);

  /** Longer than a busy machine delays a process. */
  private static final int PATIENCE_SECONDS = Scale.of(15, 3);

  /**
   * Endings that must not occur on any machine. Requests that were not sent or took more than a
   * minute count only at full size, because a busy machine can cause them.
   */
  private static final List<String> NEVER =
      List.of(
          "HEALTHY_STREAM_ENDED",
          "STREAM_CUT",
          "WHOLE_CUT",
          "OTHER_STATUS",
          "WRONG_ANSWER",
          "NO_ANSWER");

  /** Endings of requests that the router could not serve, besides {@link #NEVER}. */
  private static final List<String> UNSERVED =
      List.of(
          "STREAM_ENDED_WITH_ERROR",
          "STREAM_ENDED_AT_ITS_HEAD",
          "LEFT",
          "POISON_REFUSED",
          "SERVER_ERROR");

  /** The command of the tested router, with the launcher's memory settings. */
  private static final List<String> ROUTER =
      List.of(
          Path.of(System.getProperty("java.home"), "bin", "java").toString(),
          "-XX:+UseSerialGC",
          "-Xms48m",
          "-XX:SurvivorRatio=2",
          "-XX:+UseCompactObjectHeaders",
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow",
          "-cp",
          System.getProperty("java.class.path"),
          "io.pointsman.server.cli.Main",
          "serve");

  private static int unserved(ChaosReport report) {
    return UNSERVED.stream().mapToInt(report::ended).sum();
  }

  /** The rate gives one request that ends engines every few seconds, and time to restart them. */
  @Test
  void faultsOfMeaningTakeNoMoreThanTheyMust() throws Exception {
    int seconds = Scale.of(30, 120);
    ChaosReport report =
        ChaosRun.run(
            new ChaosRun.Setup(ROUTER, seconds, 8, 100, 1, seconds * 200, PATIENCE_SECONDS, true));

    Scale.report("chaos, hostile", "\n" + report.markdown());
    assertThat(NEVER.stream().filter(end -> report.ended(end) > 0)).as(report.markdown()).isEmpty();
    assertThat(report.mostLost()).as(report.markdown()).isBetween(1, 2);
    assertThat(report.ended("POISON_REFUSED")).as(report.markdown()).isPositive();
    assertThat(report.ended("LEFT")).as(report.markdown()).isPositive();
    assertThat(report.ended("SERVED")).as(report.markdown()).isGreaterThan(unserved(report));
    // A good request in progress on both engines that a poison ends gets no third one.
    assertThat(report.ended("SERVER_ERROR"))
        .as(report.markdown())
        .isLessThanOrEqualTo(report.lost());
    assertThat(report.leftInFlight()).as(report.markdown()).isZero();
    assertThat(report.leftOpen()).as(report.markdown()).isLessThanOrEqualTo(8);
    assertThat(report.leastAvailable()).as(report.markdown()).isPositive();
  }

  @Test
  void onlyStreamsCutByTheEngineFailAndEachGetsAnErrorEvent() throws Exception {
    ChaosReport report =
        ChaosRun.run(
            new ChaosRun.Setup(ROUTER, SECONDS, 8, RATE, 1, SECONDS * 200, PATIENCE_SECONDS));

    Scale.report("chaos", "\n" + report.markdown());
    assertThat(NEVER.stream().filter(end -> report.ended(end) > 0)).as(report.markdown()).isEmpty();
    // Two engines that begin to fail at the same time can meet one request, and it gets no third
    // one.
    assertThat(report.ended("SERVER_ERROR")).as(report.markdown()).isLessThanOrEqualTo(2);
    assertThat((long) report.cutStreams())
        .as(report.markdown())
        .isLessThanOrEqualTo(report.cutOnEngines());
    assertThat(report.leftInFlight()).as(report.markdown()).isZero();
    assertThat(report.ended("SERVED")).as(report.markdown()).isPositive();
    assertThat(report.cutOnEngines()).as(report.markdown()).isPositive();
    assertThat(report.leftOpen()).as(report.markdown()).isLessThanOrEqualTo(8);
    assertThat(report.leastAvailable()).as(report.markdown()).isPositive();
    if (Scale.full()) {
      assertThat(report.reached()).as(report.markdown()).isTrue();
      assertThat(report.ended("SERVED")).isGreaterThan(unserved(report));
    }
    assertThat(report.strikes()).isEqualTo(SECONDS);
    assertThat(report.plot("chaos").lines().filter(line -> line.contains("fill=\"none\"")))
        .hasSizeGreaterThanOrEqualTo(9);
  }
}
