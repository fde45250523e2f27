package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** More connections arrive than the router has descriptors for. */
@Timeout(180)
@Tag("full")
final class DescriptorsTest {
  private static final int MOST = 300;
  private static final int FLOOD = 400;

  /** The last connections of the flood, without a descriptor while the others are open. */
  private static final int WAITING = FLOOD - MOST;

  /** Concurrent streams that need descriptors besides those of all clients. */
  private static final int AT_WORK = 20;

  /** Half a processor; a spinning thread takes a whole one. */
  private static final double MOST_BUSY = 0.5;

  /** Tolerance for lines about failed accepts, above one per second. */
  private static final int TO_SPARE = 6;

  /** Each request connects; one failed probe or request would exclude the worker. */
  private static final List<String> TOUCHY =
      List.of(
          "--pool-idle-timeout=off",
          "--health-interval=200ms",
          "--health-failure-threshold=1",
          "--health-timeout=30s", // a busy machine is no fault
          "--breaker-failure-threshold=1",
          "--log-level=debug");

  /** Flags of a router that reserves no descriptors for workers. */
  private static String[] letInAll(String worker) {
    return flags(worker, "--max-connections=" + FLOOD);
  }

  private static String[] flags(String worker, String... more) {
    List<String> all = new ArrayList<>(List.of("--workers", worker));
    // All clients of this test have one address, and the idle ones must stay.
    all.add("--limits-max-connections-per-address=" + FLOOD);
    all.add("--limits-evict-idle=off");
    all.addAll(List.of(more));
    all.addAll(TOUCHY);
    return all.toArray(String[]::new);
  }

  private static final EngineScript ENDLESS =
      (request, connection) -> {
        if (!request.bodyText().contains("\"stream\":true")) {
          connection.reply(200, "application/json", "{\"ok\":true}");
          return;
        }
        connection.beginEvents();
        while (true) {
          connection.chunk("data: on and on\n\n");
          Thread.sleep(50); // a generation takes time
        }
      };

  @Test
  @Shows(RouterFault.OUT_OF_DESCRIPTORS)
  void streamsContinueNothingSpinsAndConnectionsAreAcceptedAgain(@TempDir Path jars)
      throws Exception {
    List<RawClient> flood = new ArrayList<>();
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, ENDLESS));
        RouterProcess router = RouterProcess.startFromJars(jars, MOST, letInAll(engine.url()));
        RawClient stream = RawClient.connect(router.port());
        RawClient kept = RawClient.connect(router.port())) {
      stream.send("POST", "/v1/completions", FaultRig.request(true)).readHead();
      assertThat(kept.send("GET", "/readiness", "").read().status()).isEqualTo(200);
      for (int i = 0; i < FLOOD; i++) {
        flood.add(RawClient.connect(router.port()));
      }
      WaitFor.until("no descriptor is left", WaitFor.LONG, () -> router.descriptors() >= MOST - 2);
      // Spinning or log flooding would go on to the end; JIT compilation does not.
      WaitFor.until(
          "it has little to do, and says so in a few lines",
          WaitFor.LONG,
          () -> hasLittleToDo(router, stream));
      WaitFor.until("a request is refused", WaitFor.LONG, () -> refused(kept));
      router.awaitOutput("failed: java.net.SocketException: Too many open files");
      assertThat(kept.send("GET", "/readiness", "").read().status()).isEqualTo(200);
      areServedWhenTheOthersLeave(flood);
      WaitFor.until("it serves again", WaitFor.LONG, () -> serves(router));
      assertThat(stream.readSome(new byte[100], 100)).isPositive();
      assertThat(router.output()).doesNotContain("is unhealthy", "refused a connection");
      stream.leave();
      router.verify();
    }
  }

  @Test
  @Shows(RouterFault.FLOODED_BY_CLIENTS)
  void clientsThatStayLeaveDescriptorsForWorkers(@TempDir Path jars) throws Exception {
    List<RawClient> flood = new ArrayList<>();
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, ENDLESS));
        RouterProcess router = RouterProcess.startFromJars(jars, MOST, flags(engine.url()));
        RawClient kept = RawClient.connect(router.port())) {
      assertThat(kept.send("GET", "/readiness", "").read().status()).isEqualTo(200);
      for (int i = 0; i < FLOOD; i++) {
        flood.add(RawClient.connect(router.port()));
      }
      router.awaitOutput("client connections, the limit of limits.max-connections");
      // Each needs a new connection to the worker while all other clients are connected.
      for (RawClient each : flood.subList(0, AT_WORK)) {
        each.send("POST", "/v1/completions", FaultRig.request(true));
      }
      for (RawClient each : flood.subList(0, AT_WORK)) {
        assertThat(each.readHead().status()).isEqualTo(200);
      }
      areServedWhenTheOthersLeave(flood);
      assertThat(router.output()).doesNotContain("Too many open files");
      router.verify();
    }
  }

  private static void areServedWhenTheOthersLeave(List<RawClient> flood) throws IOException {
    List<RawClient> waiting = flood.subList(FLOOD - WAITING, FLOOD);
    for (RawClient each : waiting) {
      each.send("GET", "/readiness", "");
    }
    for (RawClient each : flood.subList(0, FLOOD - WAITING)) {
      each.leave();
    }
    for (RawClient each : waiting) {
      assertThat(each.read().status()).as("answer to one that waited").isEqualTo(200);
      each.leave();
    }
  }

  private static long failedAccepts(RouterProcess router) {
    return router
        .output()
        .lines()
        .filter(line -> line.contains("accept") && line.contains("Too many open files"))
        .count();
  }

  /** Reads the stream for several seconds and checks the router's activity in that time. */
  private static boolean hasLittleToDo(RouterProcess router, RawClient stream) {
    long start = System.nanoTime();
    long linesBefore = failedAccepts(router);
    double before = router.cpuSeconds();
    readFor(3, stream);
    double seconds = (System.nanoTime() - start) / 1e9;
    double busy = (router.cpuSeconds() - before) / seconds;
    long lines = failedAccepts(router) - linesBefore;
    Scale.report(
        "out of descriptors",
        "%.2f processors busy, %d lines about failed accepts in %.1f s"
            .formatted(busy, lines, seconds));
    return busy < MOST_BUSY && lines >= 1 && lines < seconds + TO_SPARE;
  }

  private static void readFor(int seconds, RawClient stream) {
    long start = System.nanoTime();
    byte[] piece = new byte[1000];
    try {
      while (System.nanoTime() - start < seconds * 1_000_000_000L) {
        assertThat(stream.readSome(piece, piece.length)).isPositive();
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** True if there was no descriptor for the worker's connection; occasionally one is free. */
  private static boolean refused(RawClient kept) {
    try {
      long start = System.nanoTime();
      HttpAnswer answer = kept.send("POST", "/v1/completions", FaultRig.request(false)).read();
      if (answer.status() == 200) {
        return false;
      }
      double took = (System.nanoTime() - start) / 1e9;
      Scale.report("out of descriptors", "refused after %.3f s".formatted(took));
      assertThat(answer.status()).as(answer.text()).isEqualTo(503);
      assertThat(answer.text()).contains("\"code\":\"out_of_descriptors\"");
      assertThat(answer.header("retry-after")).isNotNull();
      return true;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static boolean serves(RouterProcess router) {
    try {
      return RawClient.call(router.port(), "POST", "/v1/completions", FaultRig.request(false))
              .status()
          == 200;
    } catch (IOException _) {
      return false;
    }
  }
}
