package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Await;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.Scale;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** More connections come than the router has descriptors for. */
@Timeout(180)
final class DescriptorsTest {
  private static final int FEW_MORE = 20;
  private static final int FLOOD = 200;

  /** Half a processor: one that spins takes a whole one. */
  private static final double MOST_BUSY = 0.5;

  private static final EngineScript ENDLESS =
      (request, connection) -> {
        if (!request.bodyText().contains("\"stream\":true")) {
          connection.reply(200, "application/json", "{\"ok\":true}");
          return;
        }
        connection.beginEvents();
        while (true) {
          connection.chunk("data: on and on\n\n");
          Thread.sleep(50); // a generation takes its time
        }
      };

  @Test
  void streamsGoOnNothingSpinsAndConnectionsAreTakenAgainLater() throws Exception {
    List<RawClient> flood = new ArrayList<>();
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, ENDLESS));
        RouterProcess router = RouterProcess.serve(List.of(engine.url()));
        RawClient stream = RawClient.connect(router.port())) {
      stream.send("POST", "/v1/completions", FaultRig.request(true)).readHead();
      int most = router.descriptors() + FEW_MORE;
      router.limitDescriptors(most);
      for (int i = 0; i < FLOOD; i++) {
        flood.add(RawClient.connect(router.port()));
      }
      Await.until("no descriptor is left", Await.LONG, () -> router.descriptors() >= most - 2);
      double busy = busyWhileItReads(router, stream);
      Scale.report("out of descriptors", "%.2f processors busy".formatted(busy));
      assertThat(busy).isLessThan(MOST_BUSY);
      for (RawClient each : flood) {
        each.leave();
      }
      Await.until("it serves again", Duration.ofSeconds(60), () -> serves(router));
      stream.readSome(new byte[100], 100);
    }
  }

  /** Reads the stream for some seconds; answers the share of a processor that the router took. */
  private static double busyWhileItReads(RouterProcess router, RawClient stream)
      throws IOException {
    long start = System.nanoTime();
    double before = router.cpuSeconds();
    byte[] piece = new byte[1000];
    while (System.nanoTime() - start < 3_000_000_000L) {
      assertThat(stream.readSome(piece, piece.length)).isPositive();
    }
    return (router.cpuSeconds() - before) / ((System.nanoTime() - start) / 1e9);
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
