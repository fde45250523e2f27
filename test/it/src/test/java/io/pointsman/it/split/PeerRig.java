package io.pointsman.it.split;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.EventLoopGroup;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.demo.PdEngines;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.KvOptions;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A split fleet with engines that register with the router, and the router. */
final class PeerRig implements AutoCloseable {
  static final String PROMPT = SplitProtocolsTest.WORDS;

  private static final AtomicInteger CALLS = new AtomicInteger();

  private final EventLoopGroup loops = SimEngine.newGroup(2);
  private final PdEngines fleet;
  private final Router router;

  /**
   * @param listed true if the workers are configured; false if they must register
   */
  PeerRig(KvConnector connector, int prefills, int decodes, boolean listed) {
    this(connector, prefills, decodes, listed, same -> same);
  }

  /**
   * @param listed true if the workers are configured; false if they must register
   * @param others additional workers
   */
  PeerRig(
      KvConnector connector,
      int prefills,
      int decodes,
      boolean listed,
      UnaryOperator<KvOptions> options,
      WorkerSpec... others) {
    this(connector, prefills, decodes, listed, options, same -> same, others);
  }

  /**
   * @param change changes the configured worker, in place of its true data
   */
  PeerRig(
      KvConnector connector,
      int prefills,
      int decodes,
      boolean listed,
      UnaryOperator<KvOptions> options,
      UnaryOperator<WorkerSpec> change,
      WorkerSpec... others) {
    fleet =
        PdEngines.start(
            prefills,
            decodes,
            connector,
            SimConfig.instant().withModels("sim").withScaleOut(true),
            options,
            loops);
    ConfigValues values =
        fleet
            .configure(new ConfigValues())
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(FleetKeys.HEALTH_INTERVAL, Duration.ofSeconds(1));
    List<WorkerSpec> workers = new ArrayList<>();
    if (listed) {
      values.get(RoutingKeys.WORKERS).forEach(worker -> workers.add(change.apply(worker)));
    }
    workers.addAll(List.of(others));
    values.set(RoutingKeys.WORKERS, workers);
    router = Router.start(PointsmanConfig.from(values), "test");
    awaitWorkers(prefills + decodes + others.length);
  }

  List<Worker> workers() {
    return router.fleet().snapshot().workers();
  }

  void awaitWorkers(int count) {
    WaitFor.until(
        () -> count + " workers that are well: " + workers(),
        WaitFor.LONG,
        () ->
            workers().size() == count
                && workers().stream().allMatch(w -> w.health().healthy())
                && Stream.of(Role.values()).mapToInt(this::serving).sum() == count);
  }

  private int serving(Role role) {
    Pool pool = router.fleet().snapshot().pool(role, "sim");
    return pool == null ? 0 : pool.size();
  }

  int port() {
    return URI.create(router.url()).getPort();
  }

  List<SimEngine> prefillEngines() {
    return fleet.prefills();
  }

  List<SimEngine> decodeEngines() {
    return fleet.decodes();
  }

  HttpAnswer ask(String path, String body) throws IOException {
    return RawClient.call(port(), "POST", path, body);
  }

  /**
   * Sends requests until several in a row are split, because data about peers may arrive after the
   * engines. Earlier counts are discarded.
   */
  void awaitSplit() {
    int[] inRow = {0};
    WaitFor.until(
        () -> "requests that were split: " + fleet.handovers() + reasons(),
        WaitFor.LONG,
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

  void awaitNothingReserved() {
    WaitFor.until(
        () -> "nothing reserved: " + fleet.handovers(),
        WaitFor.LONG,
        () -> fleet.handovers().reserved() == 0 && router.inFlight() == 0);
    assertThat(fleet.handovers().leaked()).isZero();
    assertThat(fleet.handovers().fieldErrors()).as(reasons()).isZero();
  }

  String reasons() {
    return fleet.engines().stream().map(e -> e.id() + ": " + e.kvState().reasons()).toList() + "";
  }

  long prefills() {
    return fleet.prefills().stream().mapToLong(e -> e.kvState().steps().prefill()).sum();
  }

  @Override
  public void close() {
    router.close();
    fleet.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  static int nextCall() {
    return CALLS.incrementAndGet();
  }

  private static String completion(boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":\"%s\",\"max_tokens\":5,\"stream\":%b}"
        .formatted(PROMPT, stream);
  }

  /** A completion with a new prompt. */
  static String fresh(boolean stream) {
    return completion(stream).replace(PROMPT, "call " + nextCall() + " " + PROMPT);
  }
}
