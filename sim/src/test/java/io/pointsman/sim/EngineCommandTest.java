package io.pointsman.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.sim.failure.Failure;
import io.pointsman.sim.failure.Fault;
import io.pointsman.sim.http.ConnectionOptions;
import io.pointsman.sim.live.EngineProfile;
import io.pointsman.sim.schedule.EngineLimits;
import io.pointsman.sim.schedule.LinearLatency;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

class EngineCommandTest {
  @Test
  void defaultsAreThoseOfTheConfiguration() {
    assertThat(parse()).isEqualTo(SimConfig.DEFAULT.withPort(8000));
  }

  @Test
  void everyFlagReachesTheConfiguration() {
    SimConfig config =
        parse(
            "--host=0.0.0.0",
            "--port=1",
            "--admin-port=2",
            "--id=x",
            "--model=a,b",
            "--prefill-tokens-per-s=5",
            "--decode-ms=6",
            "--kv-blocks=7",
            "--block-size=8",
            "--max-running=9",
            "--max-num-batched-tokens=10",
            "--max-model-len=11k",
            "--max-num-queued-reqs=12",
            "--max-num-queued-tokens=32K",
            "--output-tokens=13",
            "--embedding-dimensions=14",
            "--max-stored-responses=15",
            "--enable-scale-out",
            "--speed=16",
            "--seed=17",
            "--keep-alive-seconds=18",
            "--gzip",
            "--max-body-bytes=19",
            "--failure={\"kind\":\"hang\",\"count\":2}");

    assertThat(config)
        .isEqualTo(
            new SimConfig(
                "0.0.0.0",
                1,
                2,
                "x",
                new EngineProfile(List.of("a", "b"), 13, 14, 15, true, 17),
                new EngineLimits(7, 8, 9, 10, 11_000, 12, 32_768),
                new LinearLatency(5, 6),
                16,
                new ConnectionOptions(18, true, 19),
                List.of(Failure.times(2, new Fault.Hang(0)))));
  }

  @Test
  void sizesHaveTheUnitsOfVllm() {
    assertThat(EngineCommand.size("x", "32k")).isEqualTo(32_000);
    assertThat(EngineCommand.size("x", "32K")).isEqualTo(32_768);
    assertThat(EngineCommand.size("x", "5")).isEqualTo(5);
    assertThatThrownBy(() -> EngineCommand.size("x", "5q")).hasMessageContaining("x: 5q");
  }

  @Test
  void wrongValueNamesItsFlag() {
    assertThatThrownBy(() -> parse("--kv-blocks=0")).hasMessageContaining("kv-blocks: 0");
    assertThatThrownBy(() -> parse("--port=70000")).hasMessageStartingWith("port: 70000");
    assertThatThrownBy(() -> parse("--admin-port=-2")).hasMessageStartingWith("admin-port: -2");
    assertThatThrownBy(() -> parse("--failure={\"kind\":\"x\"}")).hasMessageContaining("kind: x");
  }

  @Test
  void portThatIsTakenIsSaidInOneLine() {
    try (SimEngine first = SimEngine.start(SimConfig.instant())) {
      StringWriter err = new StringWriter();
      CommandLine command = new CommandLine(new EngineCommand()).setErr(new PrintWriter(err, true));

      assertThat(command.execute("--port=" + first.port())).isEqualTo(1);
      assertThat(err.toString())
          .isEqualToIgnoringNewLines(
              "engine: 127.0.0.1:" + first.port() + " (expected: a free port)");
    }
  }

  @Test
  void everyFlagIsInTheManual() throws IOException {
    Path root = Path.of(Objects.requireNonNull(System.getProperty("pointsman.root")));
    String manual = Files.readString(root.resolve("docs/simulator.md"));
    for (OptionSpec option : new CommandLine(new EngineCommand()).getCommandSpec().options()) {
      assertThat(manual).contains("`" + option.longestName() + "`");
    }
  }

  private static SimConfig parse(String... arguments) {
    EngineCommand command = new EngineCommand();
    new CommandLine(command).parseArgs(arguments);
    return command.config();
  }
}
