package io.pointsman.control.peers;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.kv.KvRole;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class BootstrapTest {
  private static final byte[] TWO_RANKS =
      "{\"0\":{\"engine_id\":\"e0\"},\"1\":{\"engine_id\":\"e1\"}}"
          .getBytes(StandardCharsets.UTF_8);

  private final EventLoopGroup loops = SimEngine.newGroup(1);
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final PeerTable peers = new PeerTable(100);
  private final AtomicInteger questions = new AtomicInteger();

  @AfterEach
  void close() {
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  private static WorkerSpec spec(String url, Role role) {
    return new WorkerSpec(
        WorkerSpec.idOf(url), url, role, Set.of(), WorkerSpec.NO_RANK, 0, Map.of());
  }

  private Worker prefill(String url, String bootstrapPort) {
    Worker worker = fleet.add(spec(url, Role.PREFILL));
    peers.update(worker.id(), peer -> peer.withBootstrapPort(Integer.parseInt(bootstrapPort)));
    return worker;
  }

  private List<String> ids(Worker worker) {
    return peers.of(worker).engineIds();
  }

  private static void healthy(Worker worker, boolean good) {
    for (int i = 0; i < 10; i++) {
      worker.probed(good);
    }
  }

  @Test
  void idsOfEachRankAreReadAndReadAgainAfterARestart() {
    SystemTicker real = new SystemTicker();
    EngineClient client = new EngineClient(EngineKeys.NONE, real);
    SimConfig config =
        SimConfig.instant()
            .withKv(KvOptions.of(KvRole.PREFILL, KvConnector.MOONCAKE).withRanks(1, 2));
    try (SimEngine engine = SimEngine.start(config, loops);
        Bootstrap bootstrap =
            new Bootstrap(
                    fleet,
                    peers,
                    (url, wait) -> client.send(Role.PREFILL, "GET", url, wait).body(),
                    real)
                .start()) {
      Worker worker = prefill(engine.url(), "" + engine.kvState().port());
      healthy(worker, true);
      Await.until("two ids", () -> ids(worker).size() == 2);
      String before = ids(worker).getFirst();
      assertThat(before).isEqualTo(engine.kvState().engineId());
      engine.stop();
      healthy(worker, false);
      Await.until("they are forgotten", () -> ids(worker).isEmpty());
      engine.restart();
      healthy(worker, true);
      Await.until("two new ids", () -> ids(worker).size() == 2);
      assertThat(ids(worker)).doesNotContain(before).contains(engine.kvState().engineId());
      assertThat(bootstrap).isNotNull();
    }
  }

  private Bootstrap counting(Bootstrap.Question question) {
    return new Bootstrap(
        fleet,
        peers,
        (url, wait) -> {
          questions.incrementAndGet();
          return question.ask(url, wait);
        },
        clock::nanos);
  }

  private void awaitQuestions(Bootstrap bootstrap, int count) {
    Await.until(
        () -> count + " questions, so far " + questions,
        () -> {
          bootstrap.look();
          return questions.get() >= count;
        });
    for (int i = 0; i < 5; i++) {
      bootstrap.look();
    }
    assertThat(questions).hasValue(count);
  }

  @Test
  void aServerIsQueriedAgainOnlyAfterTheInterval() {
    Worker worker = prefill("http://10.0.0.1:8000", "9000");
    Bootstrap bootstrap =
        counting(
            (url, _) -> {
              assertThat(url).isEqualTo("http://10.0.0.1:9000/query");
              return TWO_RANKS;
            });
    for (int i = 0; i < 5; i++) {
      bootstrap.look();
    }
    assertThat(questions).hasValue(0);
    healthy(worker, true);
    awaitQuestions(bootstrap, 1);
    Await.until("ids", () -> ids(worker).equals(List.of("e0", "e1")));
    settle(bootstrap);
    clock.advance(Bootstrap.REFRESH.minusMillis(1));
    awaitQuestions(bootstrap, 1);
    clock.advance(Duration.ofMillis(1));
    awaitQuestions(bootstrap, 2);
  }

  @Test
  void onlyPrefillWorkersAreQueried() {
    healthy(fleet.add(WorkerSpec.of("http://a:1")), true);
    healthy(fleet.add(spec("http://b:1", Role.DECODE)), true);
    Worker worker = fleet.add(spec("http://c:1", Role.PREFILL));
    healthy(worker, true);
    Bootstrap bootstrap =
        counting(
            (url, _) -> {
              assertThat(url).isEqualTo("http://c:8998/query");
              return TWO_RANKS;
            });
    awaitQuestions(bootstrap, 1);
    Await.until("ids", () -> ids(worker).size() == 2);
  }

  @Test
  void aFailureKeepsTheIdsAndIsRetriedWithGrowingPauses() {
    Worker worker = prefill("http://10.0.0.1:8000", "9000");
    healthy(worker, true);
    Bootstrap bootstrap =
        counting(
            (_, _) -> {
              if (questions.get() == 1) {
                return TWO_RANKS;
              }
              throw new IOException("down");
            });
    awaitQuestions(bootstrap, 1);
    Await.until("ids", () -> ids(worker).size() == 2);
    settle(bootstrap);
    clock.advance(Bootstrap.REFRESH);
    awaitQuestions(bootstrap, 2);
    settle(bootstrap);
    clock.advance(Bootstrap.FIRST_RETRY);
    awaitQuestions(bootstrap, 3);
    settle(bootstrap);
    clock.advance(Bootstrap.FIRST_RETRY);
    awaitQuestions(bootstrap, 3);
    clock.advance(Bootstrap.FIRST_RETRY);
    awaitQuestions(bootstrap, 4);
    assertThat(ids(worker)).hasSize(2);
  }

  /** Waits until all queries have ended. */
  private static void settle(Bootstrap bootstrap) {
    Await.until("no question under way", () -> bootstrap.underWay() == 0);
  }

  @Test
  void queriesAreLimitedAndOneServerGetsOneAtATime() {
    CountDownLatch go = new CountDownLatch(1);
    Bootstrap bootstrap =
        counting(
            (_, _) -> {
              try {
                go.await();
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
              return TWO_RANKS;
            });
    for (int i = 1; i <= 40; i++) {
      healthy(prefill("http://10.0.0." + i + ":8000", "9000"), true);
    }
    awaitQuestions(bootstrap, 32);
    go.countDown();
    awaitQuestions(bootstrap, 40);
  }

  @Test
  void idsOfALeftWorkerAreNotStored() {
    Worker worker = prefill("http://10.0.0.1:8000", "9000");
    healthy(worker, true);
    Bootstrap bootstrap =
        counting(
            (_, _) -> {
              fleet.remove(worker.id());
              return TWO_RANKS;
            });
    awaitQuestions(bootstrap, 1);
    settle(bootstrap);
    assertThat(ids(worker)).isEmpty();
  }
}
