package io.pointsman.tool.bench.split;

import io.netty.channel.EventLoopGroup;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.demo.PdEngines;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** Strict simulated prefill and decode engines with a router in front of them. */
final class PdBenchRig implements AutoCloseable {
  static final String MODEL = "sim-model";
  private static final Duration START_LIMIT = Duration.ofMinutes(1);
  private static final int LOOPS = 2;

  private final EventLoopGroup loops = SimEngine.newGroup(LOOPS);
  private final PdEngines fleet;
  private final Router router;

  private PdBenchRig(
      int prefills,
      int decodes,
      KvConnector connector,
      SimConfig engine,
      UnaryOperator<ConfigValues> rules) {
    fleet =
        PdEngines.start(
            prefills,
            decodes,
            connector,
            engine.withModels(MODEL),
            UnaryOperator.identity(),
            loops);
    ConfigValues values =
        fleet
            .configure(new ConfigValues())
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(DisaggKeys.DECODE_POLICY, "least_load")
            .set(OperationKeys.DRAIN_TIMEOUT, Duration.ZERO);
    router = Router.start(PointsmanConfig.from(rules.apply(values)), "bench");
  }

  /**
   * Starts engines and router, and waits until all engines are healthy.
   *
   * @param rules adds the rules for splitting to the configuration
   */
  static PdBenchRig start(
      int prefills,
      int decodes,
      KvConnector connector,
      SimConfig engine,
      UnaryOperator<ConfigValues> rules)
      throws InterruptedException {
    PdBenchRig rig = new PdBenchRig(prefills, decodes, connector, engine, rules);
    try {
      rig.awaitHealthy();
      return rig;
    } catch (InterruptedException | RuntimeException e) {
      rig.close();
      throw e;
    }
  }

  private void awaitHealthy() throws InterruptedException {
    long begin = System.nanoTime();
    while (!router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy())) {
      if (System.nanoTime() - begin > START_LIMIT.toNanos()) {
        throw new IllegalStateException("engines: not healthy within " + START_LIMIT);
      }
      TimeUnit.MILLISECONDS.sleep(10);
    }
  }

  PdEngines fleet() {
    return fleet;
  }

  /** Base URL of the router. */
  String url() {
    return router.url();
  }

  /** Number of requests with a prompt that a prefill engine computed for a decode engine. */
  long prefilled() {
    return fleet.prefills().stream().mapToLong(each -> each.kvState().steps().prefill()).sum();
  }

  @Override
  public void close() {
    router.close();
    fleet.close();
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
