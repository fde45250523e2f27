package io.pointsman.observe.metrics;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.proxy.local.LocalResponse;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients of the metrics port that leave their request incomplete. */
@Timeout(120)
class HalfSentScrapeTest {
  /** A separate process, because the JDK reads the limits of its servers only once. */
  static final class Listener {
    private Listener() {}

    public static void main(String[] args) throws IOException {
      RouterMetrics metrics =
          new RouterMetrics(
              new Fleet(FleetSettings.DEFAULTS, System::nanoTime),
              _ -> "random",
              16,
              System::nanoTime,
              "0");
      InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
      try (MetricsServer server =
          MetricsServer.open(
              metrics, () -> LocalResponse.text(200, ""), () -> LocalResponse.text(200, ""), any)) {
        System.out.println(server.port());
        int _ = System.in.read();
      }
    }
  }

  @Test
  @Tag("full")
  void anIncompleteRequestIsClosed() throws Exception {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    ProcessBuilder builder =
        new ProcessBuilder(
            java, "-cp", System.getProperty("java.class.path"), Listener.class.getName());
    Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader said = process.inputReader();
        Socket peer = new Socket()) {
      int port = Integer.parseInt(String.valueOf(said.readLine()));
      peer.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      peer.setSoTimeout((int) Duration.ofSeconds(60).toMillis());
      peer.getOutputStream().write("GET /metr".getBytes(US_ASCII));
      assertThat(peer.getInputStream().read()).isEqualTo(-1);
    } finally {
      process.destroyForcibly().waitFor();
    }
  }
}
