package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Streams that outlive a reload of nginx, and with it their configuration. */
@Timeout(300)
@Tag("full")
final class NginxReloadTest {
  private static final Duration TTL = Duration.ofSeconds(6);

  private final PlaneRig rig = new PlaneRig(PlaneRig.Way.NGINX);

  @AfterEach
  void close() {
    rig.close();
  }

  private static RawEngine.Script held(CountDownLatch end) {
    return (request, out) -> {
      if (new String(request.body(), StandardCharsets.UTF_8).contains("held")) {
        stream(out, end);
      } else {
        out.write(RawEngine.answer("text/plain", new byte[] {'!'}));
      }
    };
  }

  private static void stream(OutputStream out, CountDownLatch end) throws IOException {
    String head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    out.write((head + "transfer-encoding: chunked\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
    out.write("5\r\nbegin\r\n".getBytes(StandardCharsets.US_ASCII));
    out.flush();
    try {
      if (!end.await(2 * WaitFor.LONG.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("not let go on");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
    out.write("3\r\nend\r\n0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
  }

  private static double ended(Router router, String outcome) throws IOException {
    int metrics = URI.create(String.valueOf(router.metricsUrl())).getPort();
    return PlaneRig.get(metrics, "/metrics")
        .text()
        .lines()
        .filter(line -> line.startsWith("pointsman_external_leases_ended_total{"))
        .filter(line -> line.contains("outcome=\"" + outcome + "\""))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  /** The lease lasts 6 s; the stream continues for 13 s after the reload. */
  @Test
  void theyCountAsLoadToTheirEndAndAreThenSettled() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    rig.scripted(held(end));
    Router router = rig.router("least_load", "metrics.enabled", "true", "metrics.port", "0");
    NginxProcess nginx = (NginxProcess) rig.carrier(TTL);
    rig.awaitNoLoad();
    try (RawClient stream = RawClient.connect(rig.port())) {
      stream.send("POST", "/v1/completions", completion("held"));
      HttpAnswer.Head head = stream.readHead();
      List<Long> before = nginx.workers();
      nginx.reload();
      long begin = System.nanoTime();
      while (System.nanoTime() - begin < TTL.multipliedBy(13).dividedBy(6).toNanos()) {
        assertThat(rig.load()).as(nginx.output()).isEqualTo(1);
        WaitFor.pause(50);
      }
      double succeeded = ended(router, "succeeded");
      end.countDown();
      assertThat(stream.readBody(head).text()).isEqualTo("beginend");
      rig.awaitNoLoad();
      WaitFor.until(
          () -> "settled: " + nginx.output(),
          WaitFor.LONG,
          () -> {
            try {
              return ended(router, "succeeded") == succeeded + 1;
            } catch (IOException e) {
              throw new AssertionError(e);
            }
          });
      assertThat(ended(router, "expired")).isZero();
      WaitFor.until(
          () -> "the old processes have ended: " + nginx.workers(),
          WaitFor.LONG,
          () -> nginx.workers().stream().noneMatch(before::contains));
    } finally {
      end.countDown();
    }
    assertThat(rig.send(completion("behind it")).status()).isEqualTo(200);
    rig.awaitNoLoad();
  }
}
