package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.PointsmanConfig;
import io.pointsman.app.config.key.FleetKeys;
import io.pointsman.app.config.key.FrontKeys;
import io.pointsman.app.config.key.OperationKeys;
import io.pointsman.app.config.key.RoutingKeys;
import io.pointsman.app.demo.SplitFleet;
import io.pointsman.app.wiring.Router;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.RawClient;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import io.pointsman.sim.kv.KvConnector;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Protocols whose engines tell the router of themselves: by ZeroMQ, or by a bootstrap server. */
@Timeout(180)
final class SplitPeersTest {
  private static final String PROMPT = SplitProtocolsTest.WORDS;

  private static int calls;

  /** A split fleet and the router in front. */
  private static final class Rig implements AutoCloseable {
    private final EventLoopGroup loops = SimEngine.newGroup(2);
    private final SplitFleet fleet;
    private final Router router;

    /**
     * @param listed whether the router is told of its workers, or has to hear of them
     */
    Rig(KvConnector connector, int prefills, int decodes, boolean listed) {
      fleet =
          SplitFleet.start(
              prefills,
              decodes,
              connector,
              SimConfig.instant().withModels("sim"),
              UnaryOperator.identity(),
              loops);
      ConfigValues values =
          fleet
              .configure(new ConfigValues())
              .set(FrontKeys.PORT, 0)
              .set(OperationKeys.METRICS_PORT, 0)
              .set(FleetKeys.HEALTH_INTERVAL, Duration.ofSeconds(1));
      if (!listed) {
        values.set(RoutingKeys.WORKERS, List.of());
      }
      router = Router.start(PointsmanConfig.from(values), "test");
      awaitWorkers(prefills + decodes);
    }

    List<Worker> workers() {
      return router.fleet().snapshot().workers();
    }

    void awaitWorkers(int count) {
      Await.until(
          () -> count + " workers that are well: " + workers(),
          Await.LONG,
          () ->
              workers().size() == count
                  && workers().stream()
                      .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
    }

    Answer ask(String path, String body) throws IOException {
      return RawClient.call(URI.create(router.url()).getPort(), "POST", path, body);
    }

    /**
     * Asks until several requests in a row were split: what a peer says of itself may come later
     * than it does. What came before is not counted.
     */
    void awaitSplit() {
      int[] inRow = {0};
      Await.until(
          () -> "requests that were split: " + fleet.handovers() + reasons(),
          Await.LONG,
          () -> {
            long before = fleet.handovers().transfers();
            boolean good = status() == 200 && fleet.handovers().transfers() > before;
            inRow[0] = good ? inRow[0] + 1 : 0;
            return inRow[0] == 8;
          });
      fleet.engines().forEach(SimEngine::resetCounters);
    }

    private int status() {
      try {
        return ask("/v1/completions", fresh(false)).status();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    void awaitNothingHeld() {
      Await.until(
          () -> "nothing held: " + fleet.handovers(),
          Await.LONG,
          () -> fleet.handovers().held() == 0 && router.inFlight() == 0);
      assertThat(fleet.handovers().leaked()).isZero();
      assertThat(fleet.handovers().fieldErrors()).as(reasons()).isZero();
    }

    private String reasons() {
      return fleet.engines().stream().map(e -> e.id() + ": " + e.kvState().reasons()).toList() + "";
    }

    long prefills() {
      return fleet.prefills().stream().mapToLong(e -> e.kvState().legs().prefill()).sum();
    }

    @Override
    public void close() {
      router.close();
      fleet.close();
      loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
  }

  private static String completion(boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":\"%s\",\"max_tokens\":5,\"stream\":%b}"
        .formatted(PROMPT, stream);
  }

  /** A prompt that nobody has cached. */
  private static String fresh(boolean stream) {
    return completion(stream).replace(PROMPT, "call " + calls++ + " " + PROMPT);
  }

  @ParameterizedTest
  @EnumSource(
      value = KvConnector.class,
      names = {"LMCACHE", "MOONCAKE", "MORIIO_READ", "MORIIO_WRITE", "P2P_NCCL"})
  void listedEnginesHandOverByWhatTheySayOfThemselves(KvConnector connector) throws IOException {
    try (Rig rig = new Rig(connector, 1, 2, true)) {
      rig.awaitSplit();
      long before = rig.prefills();
      for (boolean stream : new boolean[] {false, true}) {
        for (String path : List.of("/v1/completions", "/v1/chat/completions")) {
          String body = path.contains("chat") ? chat(stream) : fresh(stream);
          Answer answer = rig.ask(path, body);
          assertThat(answer.status())
              .as(path + ": " + answer.text() + rig.reasons())
              .isEqualTo(200);
          assertThat(answer.text()).contains(stream ? "data: [DONE]" : "\"completion_tokens\":5");
        }
      }
      assertThat(rig.prefills()).isEqualTo(before + 4);
      rig.awaitNothingHeld();
    }
  }

  private static String chat(boolean stream) {
    return "{\"model\":\"sim\",\"messages\":[{\"role\":\"user\",\"content\":\"%d %s\"}],\"max_tokens\":5,\"stream\":%b}"
        .formatted(calls++, PROMPT, stream);
  }

  @ParameterizedTest
  @EnumSource(
      value = KvConnector.class,
      names = {"MORIIO_READ", "MORIIO_WRITE", "P2P_NCCL"})
  void enginesThatRegisterNeedNotBeListed(KvConnector connector) {
    try (Rig rig = new Rig(connector, 2, 1, false)) {
      assertThat(rig.workers())
          .extracting(worker -> worker.spec().role())
          .containsExactlyInAnyOrder(Role.PREFILL, Role.PREFILL, Role.DECODE);
      rig.awaitSplit();
      rig.awaitNothingHeld();
    }
  }

  @Test
  void anEngineThatRegistersNoLongerLeavesAndReturnsWhenItDoes() {
    try (Rig rig = new Rig(KvConnector.P2P_NCCL, 2, 1, false)) {
      SimEngine gone = rig.fleet.prefills().getFirst();
      gone.stop();
      rig.awaitWorkers(2);
      gone.restart();
      rig.awaitWorkers(3);
      rig.awaitSplit();
    }
  }

  @Test
  void aPrefillEngineThatStartedAnewIsAskedForItsIdAgain() {
    try (Rig rig = new Rig(KvConnector.MOONCAKE, 1, 1, true)) {
      rig.awaitSplit();
      SimEngine engine = rig.fleet.prefills().getFirst();
      String before = engine.kvState().engineId();
      engine.stop();
      Await.until(
          () -> "it is out",
          Await.LONG,
          () -> rig.workers().stream().anyMatch(worker -> !worker.health().healthy()));
      engine.restart();
      assertThat(engine.kvState().engineId()).isNotEqualTo(before);
      rig.awaitWorkers(2);
      rig.awaitSplit();
    }
  }
}
