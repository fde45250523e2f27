package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.sim.cache.OffloadTier;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.http.SimConnectionOptions;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import io.pointsman.tool.sim.live.EngineProfile;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.LinearLatency;
import io.pointsman.tool.sim.zmq.EventFormat;
import io.pointsman.tool.sim.zmq.EventOptions;
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
                new SimConnectionOptions(18, true, 19),
                List.of(ScheduledFault.times(2, new Fault.Hang(0))),
                null,
                null));
  }

  @Test
  void everyFlagOfARoleReachesTheConfiguration() {
    SimConfig config =
        parse(
            "--role=decode",
            "--kv-connector=lmcache",
            "--lenient",
            "--kv-direct",
            "--kv-bidirectional",
            "--kv-params-in-streams",
            "--kv-port=1",
            "--kv-lease=2",
            "--kv-decoder-ttl=3",
            "--kv-wait=4",
            "--kv-bytes-per-token=5",
            "--kv-bandwidth=6",
            "--tp-size=2",
            "--dp-size=8",
            "--kv-init-ports=9,10",
            "--kv-alloc-ports=11,12",
            "--kv-router=h:13",
            "--kv-ping=14",
            "--kv-store=s:15",
            "--kv-log=16");

    assertThat(config.kv())
        .isEqualTo(
            new KvOptions(
                KvRole.DECODE,
                KvConnector.LMCACHE,
                true,
                true,
                true,
                true,
                1,
                2,
                3,
                4,
                5,
                6,
                2,
                8,
                List.of(9, 10),
                List.of(11, 12),
                "h:13",
                14,
                "s:15",
                16));
    assertThat(parse("--role=prefill", "--kv-connector=p2p_nccl").kv())
        .isEqualTo(KvOptions.of(KvRole.PREFILL, KvConnector.P2P_NCCL));
  }

  @Test
  void flagsOfARoleAreRefusedWithoutOne() {
    assertThatThrownBy(() -> parse("--kv-lease=2")).hasMessageStartingWith("kv-lease: set without");
    assertThatThrownBy(() -> parse("--lenient")).hasMessageStartingWith("lenient: set without");
    assertThatThrownBy(() -> parse("--role=x")).hasMessageStartingWith("role: x");
    assertThatThrownBy(() -> parse("--role=both", "--kv-connector=x"))
        .hasMessageStartingWith("kv-connector: x");
    assertThatThrownBy(
            () -> parse("--role=both", "--kv-connector=p2p-nccl", "--kv-router=localhost:1"))
        .hasMessageStartingWith("role: both");
  }

  @Test
  void flagsOfKvEventsSetTheTierOfEvictedBlocks() {
    assertThat(
            parse("--kv-events=vllm", "--kv-events-offload=disk", "--kv-events-offload-blocks=9")
                .events())
        .isEqualTo(EventOptions.of(EventFormat.VLLM).withOffload(OffloadTier.DISK, 9));
    assertThat(parse("--kv-events=vllm").events()).isEqualTo(EventOptions.of(EventFormat.VLLM));
    assertThatThrownBy(() -> parse("--kv-events-offload=host")).hasMessageContaining("--kv-events");
    assertThatThrownBy(() -> parse("--kv-events=vllm", "--kv-events-offload=tape"))
        .hasMessageStartingWith("kv-events-offload: tape");
    assertThatThrownBy(
            () ->
                parse(
                    "--kv-events=vllm", "--kv-events-offload=host", "--kv-events-offload-blocks=0"))
        .hasMessageStartingWith("kv-events-offload-blocks: 0");
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
  void portInUseIsReportedInOneLine() {
    try (SimEngine first = SimEngine.start(SimConfig.instant())) {
      StringWriter err = new StringWriter();
      CommandLine command = new CommandLine(new EngineCommand()).setErr(new PrintWriter(err, true));

      assertThat(command.execute("--port=" + first.port())).isEqualTo(1);
      assertThat(err.toString())
          .isEqualToIgnoringNewLines(
              "engine: 127.0.0.1:"
                  + first.port()
                  + ": Address already in use"
                  + " (expected: a free port of an address of this machine)");
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
