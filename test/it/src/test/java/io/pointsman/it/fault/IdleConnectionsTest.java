package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.UnixOperatingSystemMXBean;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.Scale;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Very many silent connections: 50,000, or as many as this machine permits per process. The router
 * is a separate process, because each side needs a descriptor per connection.
 */
@Timeout(600)
@Tag("full")
final class IdleConnectionsTest {
  private static final int ALL = 50_000;

  /** The required number: all at full size, otherwise a few thousand. */
  private static final int LEAST = Scale.of(2_000, ALL);

  /** Reserve of descriptors of each process, for classes and the engine's connections. */
  private static final int BESIDE = 1_000;

  /**
   * Maximum connections per address. One address has too few ports for the full size. Linux also
   * searches slowly once half of them (14,116 by default) are taken.
   */
  private static final int PER_ADDRESS = 10_000;

  /** Maximum memory per connection and in total besides, in KB. */
  private static final long MOST_KB_EACH = 8;

  private static final long MOST_KB_BESIDE = 64 << 10;

  private static final int ENDED = 100;

  private static final Duration LIMIT = Duration.ofMinutes(2);

  @Test
  void delayNoRequestAndLeaveNothing() throws Exception {
    int connections = asManyAsAllowed();
    List<Socket> idle = new ArrayList<>(connections);
    try (ScriptedEngine engine =
            ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, Faults.Answer.ok()));
        RouterProcess router =
            RouterProcess.serve(
                List.of(engine.url()),
                "--timeouts-client-idle=10m",
                "--limits-max-connections-per-address=" + connections,
                "--max-connections=" + (connections + BESIDE))) {
      try {
        int before = router.descriptors();
        long kbBefore = router.residentKb();
        long start = System.nanoTime();
        for (int i = 0; i < connections; i++) {
          idle.add(connect(i, router.port()));
        }
        WaitFor.until(
            "all are accepted", LIMIT, () -> router.descriptors() >= before + connections - 12);
        long kb = router.residentKb() - kbBefore;
        Scale.report(
            "idle connections",
            "%d of %d take %d KB, opened within %.1f s"
                .formatted(connections, ALL, kb, (System.nanoTime() - start) / 1e9));
        assertThat(kb).isLessThan(connections * MOST_KB_EACH + MOST_KB_BESIDE);
        assertThat(serve(router)).isEqualTo(200);
        for (Socket each : idle) {
          each.close();
        }
        WaitFor.until("all are gone", LIMIT, () -> router.descriptors() <= before + 12);
        assertThat(serve(router)).isEqualTo(200);
        router.verify();
      } finally {
        for (Socket each : idle) {
          each.close();
        }
      }
    }
  }

  @Test
  void areClosedAfterTheTimeout() throws Exception {
    List<Socket> idle = new ArrayList<>(ENDED);
    try (ScriptedEngine engine =
            ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, Faults.Answer.ok()));
        RouterProcess router =
            RouterProcess.serve(List.of(engine.url()), "--timeouts-client-idle", "1s")) {
      for (int i = 0; i < ENDED; i++) {
        idle.add(connect(i, router.port()));
      }
      for (Socket each : idle) {
        each.setSoTimeout((int) WaitFor.LONG.toMillis());
        assertThat(each.getInputStream().read()).isEqualTo(-1);
      }
      router.verify();
    } finally {
      for (Socket each : idle) {
        each.close();
      }
    }
  }

  /** Raises the limit of descriptors, if permitted. */
  private static int asManyAsAllowed() throws IOException, InterruptedException {
    if (mostDescriptors() < ALL + BESIDE) {
      int wanted = ALL + BESIDE;
      // The router inherits the limit of this process; if raising is refused, the limit stays.
      new ProcessBuilder(
              "prlimit",
              "--pid=" + ProcessHandle.current().pid(),
              "--nofile=" + wanted + ":" + wanted)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    }
    int allowed = (int) Math.min(ALL, mostDescriptors() - BESIDE);
    assertThat(allowed)
        .as("connections that %d descriptors allow", mostDescriptors())
        .isGreaterThanOrEqualTo(LEAST);
    return allowed;
  }

  private static long mostDescriptors() {
    return ManagementFactory.getPlatformMXBean(UnixOperatingSystemMXBean.class)
        .getMaxFileDescriptorCount();
  }

  private static Socket connect(int number, int port) throws IOException {
    Socket socket = new Socket();
    byte[] from = {127, 0, 0, (byte) (1 + number / PER_ADDRESS)};
    socket.bind(new InetSocketAddress(InetAddress.getByAddress(from), 0));
    socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 30_000);
    return socket;
  }

  private static int serve(RouterProcess router) throws IOException {
    String body = FaultRig.request(false);
    return RawClient.call(router.port(), "POST", "/v1/completions", body).status();
  }
}
