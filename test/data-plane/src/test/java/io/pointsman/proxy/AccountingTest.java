package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/**
 * Many concurrent requests to engines that fail in all ways, with clients that leave. At the end
 * every lease is settled and every buffer released, as the rig checks.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(120)
class AccountingTest {
  private static final int CLIENTS = 24;
  private static final int REQUESTS = 40;

  @Parameter Transport transport = Transport.AUTO;

  /** Fails in a random way, or serves. */
  private static final class Moody implements EngineScript {
    @Override
    public void answer(EngineRequest request, EngineConnection connection)
        throws IOException, InterruptedException {
      switch (ThreadLocalRandom.current().nextInt(12)) {
        case 0 -> connection.reset();
        case 1 -> connection.close();
        case 2 -> connection.reply(500, "application/json", "{}");
        case 3 -> connection.reply(429, "application/json", "{}");
        case 4 -> connection.beginEvents().chunk("data: a\n\n").reset();
        case 5 -> connection.beginEvents().chunk("data: a\n\n").send("zz\r\n").awaitPeerGone();
        case 6 -> connection.send("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nabc").close();
        case 7 -> connection.send("garbage\r\n\r\n");
        case 8, 9 -> connection.beginEvents().chunk("data: a\n\n").chunk("data: b\n\n").lastChunk();
        default -> connection.reply(200, "application/json", "{\"id\":\"x\"}");
      }
    }
  }

  @Test
  void everyLeaseIsSettledAfterAnyFault() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withRetry(
            RetrySettings.DEFAULTS.withBackoff(Duration.ofMillis(1), Duration.ofMillis(5)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Worker> workers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        ScriptedEngine engine = rig.closing(ScriptedEngine.start(new Moody()));
        WorkerSpec spec = WorkerSpec.of(engine.url());
        workers.add(
            rig.worker(
                new WorkerSpec(spec.id(), spec.url(), spec.role(), Set.of("m"), i, 0, Map.of())));
      }
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < CLIENTS; i++) {
        int seed = i;
        all.add(clients.submit(() -> askAndLeave(rig, new Random(seed))));
      }
      for (Future<?> one : all) {
        one.get();
      }
      ProxyRig.await("all ended", () -> rig.ended.size() == CLIENTS * REQUESTS);
      ProxyRig.await("all settled", () -> workers.stream().allMatch(w -> w.inFlight() == 0));
      int attempts = rig.ended.stream().mapToInt(ProxyRig.Ended::attempts).sum();
      assertThat(rig.outcomes).hasSize(attempts);
      assertThat(rig.ended.stream().filter(e -> e.status() == 200).count()).isPositive();
    }
  }

  private static void askAndLeave(ProxyRig rig, Random random) {
    for (int i = 0; i < REQUESTS; i++) {
      try (WireClient client = new WireClient(rig.server().port())) {
        client.send(ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}"));
        switch (random.nextInt(3)) {
          case 0 -> client.reset();
          case 1 -> client.head();
          default -> client.read();
        }
      } catch (IOException _) {
        // A broken answer is one of the possible results.
      }
    }
  }
}
