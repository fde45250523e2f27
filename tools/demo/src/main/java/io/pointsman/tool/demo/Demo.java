package io.pointsman.tool.demo;

import io.netty.channel.EventLoopGroup;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.plane.haproxy.HaproxyPlane;
import io.pointsman.plane.haproxy.HaproxySettings;
import io.pointsman.server.wiring.Router;
import io.pointsman.server.wiring.StartException;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.live.EngineState;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Simulated engines, a router in front of them, and chat traffic. */
public final class Demo implements AutoCloseable {
  private static final String MODEL = "demo";

  /** Small KV caches, as with large models, make differences between policies visible. */
  private static final int KV_BLOCKS = 4500;

  private static final int BLOCK_SIZE = 16;

  private static final int STEPS_TO_HEALTH = 250;
  private static final int STEP_MILLIS = 20;
  private static final int WARM_UP_ROUNDS = 3;

  private final DemoSettings settings;
  private final EventLoopGroup loops = SimEngine.newGroup(1);
  private final List<SimEngine> engines = new ArrayList<>();
  private final @Nullable PdEngines split;
  private final Readings readings = new Readings();
  private final Router router;
  private final @Nullable HaproxyPlane haproxy;
  private final DemoTraffic traffic;

  /** Owned by the thread that runs {@link DemoShow}. */
  private final Map<Worker, Long> servedBefore = new HashMap<>();

  private Demo(DemoSettings settings, String version, Ticker ticker, RandomSource random) {
    this.settings = settings;
    SimConfig config = SimConfig.DEFAULT.withModels(MODEL).withKvMemory(KV_BLOCKS, BLOCK_SIZE);
    DemoSettings.Split roles = settings.split();
    if (roles == null) {
      split = null;
      for (int i = 0; i < settings.engines(); i++) {
        engines.add(SimEngine.start(config, loops));
      }
    } else {
      split =
          PdEngines.start(
              roles.prefills(),
              roles.decodes(),
              roles.connector(),
              config,
              UnaryOperator.identity(),
              loops);
      engines.addAll(split.engines());
    }
    try {
      router = Router.start(routerConfig(), version);
    } catch (RuntimeException e) {
      closeEngines();
      throw e;
    }
    haproxy = settings.plane() == DemoSettings.DataPlane.PROXY ? null : haproxy();
    ChatClient client = new ChatClient(url(), ticker);
    traffic = new DemoTraffic(MODEL, settings.rate(), client, readings, random);
  }

  /**
   * Starts engines and router, without traffic.
   *
   * @throws io.pointsman.server.wiring.StartException if the router cannot start
   */
  public static Demo start(
      DemoSettings settings, String version, Ticker ticker, RandomSource random) {
    return new Demo(settings, version, ticker, random);
  }

  private HaproxyPlane haproxy() {
    try {
      URI asked = URI.create(router.adminUrl());
      return HaproxyPlane.start(
          HaproxySettings.of(
              InetSocketAddress.createUnresolved("127.0.0.1", 0),
              asked,
              HaproxyPlane.spoeOf(asked, "")));
    } catch (IOException e) {
      router.close();
      closeEngines();
      throw new StartException("HAProxy does not start: " + e.getMessage(), e);
    }
  }

  private PointsmanConfig routerConfig() {
    ConfigValues values =
        new ConfigValues()
            .set(FrontKeys.PORT, settings.port())
            .set(RoutingKeys.POLICY, settings.policy())
            .set(AdminKeys.DECISIONS_SAMPLE, 1.0)
            .set(OperationKeys.METRICS_PORT, 0)
            .set(AccessKeys.PORT, 0)
            .set(AccessKeys.ON_CLIENT_PORT, true)
            .set(OperationKeys.DRAIN_TIMEOUT, Duration.ZERO);
    if (settings.plane() == DemoSettings.DataPlane.HAPROXY) {
      values.set(DecideKeys.SPOE_ADDRESS, "127.0.0.1:0");
    }
    if (split != null) {
      split.configure(values).set(DisaggKeys.PREFILL_POLICY, settings.policy());
    } else {
      values.set(RoutingKeys.WORKERS, workers());
    }
    return PointsmanConfig.from(values);
  }

  private List<WorkerSpec> workers() {
    List<WorkerSpec> workers = new ArrayList<>();
    for (int i = 0; i < engines.size(); i++) {
      String id = "engine-" + (i + 1);
      String url = engines.get(i).url();
      workers.add(
          new WorkerSpec(id, url, Role.REGULAR, Set.of(MODEL), WorkerSpec.NO_RANK, 0, Map.of()));
    }
    return workers;
  }

  /** The URL for client requests. */
  public String url() {
    return haproxy == null ? router.url() : haproxy.url();
  }

  /** The URL of the operator's page. */
  String pageUrl() {
    return router.url() + "/ui";
  }

  /** A shell command that sends a request. */
  public String curl() {
    return "curl "
        + url()
        + "/v1/chat/completions -H 'content-type: application/json' -d"
        + " '{\"model\":\""
        + MODEL
        + "\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'";
  }

  /** Waits until all engines are healthy, warms up, and starts the traffic. */
  public void beginTraffic(CountDownLatch stop) throws InterruptedException {
    for (int i = 0; i < STEPS_TO_HEALTH && !(allHealthy() && known()); i++) {
      if (stop.await(STEP_MILLIS, TimeUnit.MILLISECONDS)) {
        return;
      }
    }
    for (int i = 0; i < STEPS_TO_HEALTH && !handsOver(); i++) {
      if (stop.await(STEP_MILLIS, TimeUnit.MILLISECONDS)) {
        return;
      }
      traffic.warmUp(1);
    }
    for (int round = 0; round < WARM_UP_ROUNDS; round++) {
      traffic.warmUp(2 * engines.size());
    }
    engines.forEach(SimEngine::resetCounters);
    servedBefore.clear();
    for (Worker worker : router.fleet().snapshot().workers()) {
      servedBefore.put(worker, worker.served());
    }
    traffic.start();
  }

  /** True unless the engines register with the router and have completed no hand-over yet. */
  private boolean handsOver() {
    return split == null || !split.registers() || split.handovers().transfers() > 0;
  }

  /** True if HAProxy, if present, knows all engines. */
  private boolean known() {
    return haproxy == null || haproxy.workers() == engines.size();
  }

  private boolean allHealthy() {
    return router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy());
  }

  /** The state of each worker, followed by the totals. */
  List<DemoTable.Row> rows() {
    List<DemoTable.Row> rows = new ArrayList<>();
    List<Worker> workers = router.fleet().snapshot().workers();
    int inFlight = 0;
    long served = 0;
    for (int i = 0; i < workers.size(); i++) {
      Worker worker = workers.get(i);
      double ttft = readings.latestMillis(worker.id());
      double hit = hitPercent(List.of(engines.get(i)));
      long servedHere = worker.served() - servedBefore.getOrDefault(worker, 0L);
      rows.add(new DemoTable.Row(worker.id(), worker.inFlight(), servedHere, hit, ttft));
      inFlight += worker.inFlight();
      served += servedHere;
    }
    rows.add(new DemoTable.Row("all", inFlight, served, prefixHits(), readings.millis(0.5)));
    return rows;
  }

  /** A summary of all hand-overs in one line; empty without split requests. */
  String handovers() {
    if (split == null) {
      return "";
    }
    PdEngines.Handovers all = split.handovers();
    return String.format(
        Locale.ROOT,
        "hand-overs %d, %.1f M tokens moved, reserved %d, leaks %d, wrong fields %d",
        all.transfers(),
        all.tokens() / 1e6,
        all.reserved(),
        all.leaked(),
        all.fieldErrors());
  }

  /** Prefix hits of the engines that compute prompts, in percent. */
  private double prefixHits() {
    return hitPercent(split == null ? engines : split.prefills());
  }

  private static double hitPercent(List<SimEngine> engines) {
    long queries = 0;
    long hits = 0;
    for (SimEngine engine : engines) {
      EngineState.Tokens tokens = engine.state().tokens();
      queries += tokens.cacheQueries();
      hits += tokens.cacheHits();
    }
    return queries == 0 ? Double.NaN : 100.0 * hits / queries;
  }

  /** A line with the policy's results, and a line for hand-overs if there are any. */
  public String summary() {
    String handovers = handovers();
    return policySummary() + (handovers.isEmpty() ? "" : System.lineSeparator() + handovers);
  }

  private String policySummary() {
    return String.format(
        Locale.ROOT,
        "%s: %d answers, prefix-cache hit %s, TTFT p50 %s, p95 %s, %d errors",
        settings.policy(),
        readings.answered(),
        DemoTable.percent(prefixHits()),
        DemoTable.millis(readings.millis(0.5)),
        DemoTable.millis(readings.millis(0.95)),
        readings.failures());
  }

  /** Stops everything immediately. */
  @Override
  public void close() {
    traffic.close();
    if (haproxy != null) {
      haproxy.close();
    }
    router.close();
    closeEngines();
  }

  private void closeEngines() {
    engines.forEach(SimEngine::close);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }
}
