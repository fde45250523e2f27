package io.pointsman.tool.bench.proxies;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.bench.BuiltRouter;
import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.ContenderProcess;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.bench.contender.PlaneContenders;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/**
 * Runs {@code bench proxies} briefly and checks that its results are complete. It does not check
 * times.
 */
final class ProxiesTest {
  private static final List<Contender> KNOWN = List.of(Contender.direct(), pointsman(), absent());

  private static final Contender GUARDED =
      Contenders.guarded(
          "pointsman-guarded", BuiltRouter.command(), List.of("--log-access", "all"));

  private static final List<Contender> PLANES =
      new PlaneContenders(BuiltRouter.home(), BuiltRouter.command()).all();

  @TempDir Path directory;

  private final StringWriter said = new StringWriter();

  private static Contender pointsman() {
    Contender router = Contenders.pointsman(BuiltRouter.command(), "cache_aware", Map.of());
    return new Contender("pointsman", router.body(), "", "", false, router.launcher());
  }

  private static Contender absent() {
    return new Contender(
        "absent",
        "",
        "",
        "not installed",
        false,
        _ -> {
          throw new AssertionError("started although it is not installed");
        });
  }

  private int run(String... arguments) {
    PrintWriter out = new PrintWriter(said, true);
    List<Contender> further = Stream.concat(PLANES.stream(), Stream.of(GUARDED)).toList();
    return new CommandLine(new Proxies(BuiltRouter.home(), KNOWN, further))
        .setOut(out)
        .setErr(out)
        .execute(arguments);
  }

  private int runBriefly(String workloads, String... more) {
    String[] brief = {"--reps", "1", "--seconds", "3", "--warmup", "0.2", "--workloads", workloads};
    String[] all = java.util.Arrays.copyOf(brief, brief.length + more.length);
    System.arraycopy(more, 0, all, brief.length, more.length);
    return run(all);
  }

  @Test
  @Tag("full")
  void unaryAndOpenLoopRunsHaveAllMetrics() throws Exception {
    String[] options = {"--warmup-others", "0.1", "--out", directory.toString()};
    assertThat(runBriefly("unary-2k,rate-1000", options)).as("%s", said).isZero();

    assertThat(Files.readAllLines(directory.resolve("proxies.csv")))
        .filteredOn(line -> line.startsWith("unary-2k,pointsman,1,"))
        .extracting(line -> line.split(",", -1)[3])
        .contains("rate", "capacity", "cpu_per_1000", "cpu_per_mb", "p50", "p99", "resident")
        .contains("busy", "rig_busy");
    // A request body has 2,048 bytes, a response body 350 to 400; heads do not count.
    double perRequest = 1e6 * figure("cpu_per_1000") / figure("cpu_per_mb");
    assertThat(perRequest).isBetween(2_048.0 + 350, 2_048.0 + 400);
    assertThat(Files.readAllLines(directory.resolve("proxies.csv")))
        .filteredOn(line -> line.startsWith("rate-1000,direct,1,"))
        .extracting(line -> line.split(",", -1)[3])
        .contains("rate", "p50", "p99", "p999", "rig_busy");
    assertThat(directory.resolve("proxies.md")).content().contains("| pointsman |", "| target |");
    assertThat(directory.resolve("proxies.svg")).content().startsWith("<svg").contains("pointsman");
    assertThat(said.toString()).contains("absent: left out, not installed");
    assertThat(said.toString()).contains("after 0.2 s of warm-up (without a JVM 0.1 s)");
    assertThat(said.toString()).doesNotContain("do not count");
  }

  /** The metric of this router's only run with requests of 2 KB. */
  private double figure(String metric) throws Exception {
    String start = "unary-2k,pointsman,1," + metric + ",";
    return Files.readAllLines(directory.resolve("proxies.csv")).stream()
        .filter(line -> line.startsWith(start))
        .mapToDouble(line -> Double.parseDouble(line.substring(start.length()).split(",", -1)[0]))
        .findFirst()
        .orElseThrow();
  }

  @Test
  @Tag("full")
  void streamsAreTimedAndCounted() throws Exception {
    Workload few = Workload.streams("few", "streams", 50, 200, 20_000, true);

    // A router that has just started needs part of a second for its first streams.
    Measurement measurement = rig(Duration.ofSeconds(2)).measure(pointsman(), few, 1);

    // The share that arrives in this short time depends on the machine, so it is not checked.
    assertThat(measurement.error()).isEmpty();
    assertThat(measurement.values())
        .containsKeys(
            MeasuredMetric.CHUNKS,
            MeasuredMetric.CPU_PER_CHUNK,
            MeasuredMetric.STALL_P99,
            MeasuredMetric.RESIDENT)
        .containsKeys(
            MeasuredMetric.CAME,
            MeasuredMetric.SENT,
            MeasuredMetric.SENT_LATE_P99,
            MeasuredMetric.SENT_LATE_MAX)
        .hasEntrySatisfying(MeasuredMetric.DELAY_P50, delay -> assertThat(delay).isPositive());
  }

  /** Without the client's key, or beyond a limit, each answer would be an error. */
  @Test
  @Tag("full")
  void theRouterWithKeysServesTheGenerator() throws Exception {
    Measurement measurement = rig().measure(GUARDED, named("unary-2k"), 1);

    assertThat(measurement.problem()).isEmpty();
    assertThat(measurement.values())
        .hasEntrySatisfying(MeasuredMetric.RATE, rate -> assertThat(rate).isPositive());
    Contender keyless = new Contender("keyless", GUARDED.body(), "", "", false, GUARDED.launcher());
    assertThatThrownBy(
            () -> {
              try (ContenderProcess router =
                  ContenderProcess.start(keyless, List.of("http://127.0.0.1:1"), "", 1, 1)) {
                router.awaitRouted("{}", Duration.ofSeconds(20));
              }
            })
        .hasMessageContaining("not ready: HTTP/1.1 401");
  }

  /** Demands 5 million events per second, more than any machine can send. */
  @Test
  @Tag("full")
  void aBackendThatIsBehindInvalidatesTheRun() throws Exception {
    Workload torrent = Workload.streams("torrent", "streams", 500, 100_000, 100, true);

    Measurement measurement = rig().measure(Contender.direct(), torrent, 1);

    assertThat(measurement.valid()).isFalse();
    assertThat(measurement.isBehind()).isTrue();
    assertThat(measurement.problem()).contains("of the events due came (the backend sent ");
    assertThat(measurement.values())
        .hasEntrySatisfying(MeasuredMetric.SENT, sent -> assertThat(sent).isBetween(0.1, 95.0))
        .hasEntrySatisfying(
            MeasuredMetric.SENT_LATE_MAX, late -> assertThat(late).isGreaterThan(100))
        .hasEntrySatisfying(
            MeasuredMetric.DELAY_P50, delay -> assertThat(delay).isGreaterThan(100));
  }

  @Test
  void contendersWithAJvmHaveTheirOwnWarmup() {
    Rig.Warmup warmup = new Rig.Warmup(Duration.ofSeconds(50), Duration.ofSeconds(10));

    assertThat(warmup.of(true)).isEqualTo(Duration.ofSeconds(50));
    assertThat(warmup.of(false)).isEqualTo(Duration.ofSeconds(10));
  }

  @Test
  @Tag("full")
  void startAndMemoryAreMeasured() throws Exception {
    Workload start = named("start");
    Workload idle = named("memory-0");
    Workload open = named("memory-1000").withConnections(50);

    assertThat(rig().measure(pointsman(), start, 1).values())
        .hasEntrySatisfying(MeasuredMetric.START, millis -> assertThat(millis).isPositive());
    assertThat(rig().measure(pointsman(), idle, 1).values())
        .hasEntrySatisfying(MeasuredMetric.RESIDENT, mb -> assertThat(mb).isGreaterThan(10));
    assertThat(rig().measure(pointsman(), open, 1).values())
        .hasEntrySatisfying(MeasuredMetric.RESIDENT, mb -> assertThat(mb).isGreaterThan(10));
  }

  @Test
  @Tag("full")
  void aContenderThatDoesNotStartIsAProblemWithoutValues() throws Exception {
    Contender broken =
        new Contender(
            "broken",
            "",
            "",
            "",
            false,
            _ -> new Contender.LaunchCommand(List.of("false"), Map.of()));

    Measurement measurement = rig().measure(broken, named("unary-2k"), 1);

    assertThat(measurement.problem()).startsWith("ended; false");
    assertThat(measurement.values()).isEmpty();
  }

  @Test
  @Tag("full")
  void checkNamesMissedTargets() {
    int exit = runBriefly("start", "--check");

    String result = said.toString();
    assertThat(result).contains("not measured: 2 KB POST, one core");
    // This run measures one target; its verdict depends on the machine.
    boolean missed = result.contains("MISSED: start to first routed request, ms");
    assertThat(exit).as(result).isEqualTo(missed ? 1 : 0);
  }

  /** The check fails because HAProxy cannot run, not because of the router. */
  @Test
  @Tag("full")
  void aReferenceThatDoesNotRunFailsACheck() {
    Contender broken =
        new Contender(
            "haproxy",
            "",
            "",
            "",
            false,
            _ -> new Contender.LaunchCommand(List.of("false"), Map.of()));
    Proxies command = new Proxies(BuiltRouter.home(), List.of(pointsman(), broken), List.of());
    PrintWriter out = new PrintWriter(said, true);

    int exit =
        new CommandLine(command)
            .setOut(out)
            .execute(
                "--check",
                "--workloads",
                "unary-32k",
                "--reps",
                "1",
                "--seconds",
                "1",
                "--warmup",
                "0.2");

    assertThat(said.toString())
        .contains("REFERENCE INVALID: 32 KB POST; unary-32k")
        .contains("the reference's own run failed: haproxy: ended; false")
        .doesNotContain("MISSED: ");
    assertThat(exit).isEqualTo(1);
  }

  @Test
  void unknownNamesAreRejected() {
    assertThat(run("--workloads", "unary-3k")).isEqualTo(2);
    assertThat(said.toString()).contains("--workloads: unary-3k: unknown (expected: one of unary-");
  }

  private static Workload named(String name) {
    return Workload.all().stream()
        .filter(workload -> workload.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static Rig rig() throws Exception {
    return rig(Duration.ofMillis(200));
  }

  private static Rig rig(Duration warmup) throws Exception {
    NativeTools tools = NativeTools.build(BuiltRouter.home());
    return new Rig(tools, new Rig.Warmup(warmup, warmup), Duration.ofSeconds(1), Machine.cores());
  }

  @Test
  @Tag("full")
  void externalProxiesRunIfTheyAreNamed() throws Exception {
    String names = String.join(",", PLANES.stream().map(Contender::name).toList());
    String out = directory.toString();

    assertThat(runBriefly("unary-2k", "--contenders", names, "--out", out)).as("%s", said).isZero();

    List<String> lines = Files.readAllLines(directory.resolve("proxies.csv"));
    for (Contender plane : PLANES) {
      assertThat(lines)
          .as(plane.name())
          .anyMatch(line -> line.startsWith("unary-2k," + plane.name() + ",1,rate,"));
    }
    assertThat(lines).noneMatch(line -> line.startsWith("unary-2k,pointsman,"));
  }
}
