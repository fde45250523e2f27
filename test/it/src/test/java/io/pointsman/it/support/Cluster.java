package io.pointsman.it.support;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.live.EngineState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Simulated engines and a router in front of them, in this process, configured like the program.
 * Closing it checks invariants. Nothing is in flight, no count was negative, no defect was logged,
 * and the router still serves.
 */
public final class Cluster implements AutoCloseable {
  /** The model of every engine. */
  public static final String MODEL = "sim";

  private final List<SimEngine> engines;
  private final RunningRouter router;
  private final InFlightWatch watch;
  private final DefectLog defects;

  private Cluster(List<SimEngine> engines, RunningRouter router) {
    this.engines = engines;
    this.router = router;
    watch = InFlightWatch.over(router::workers);
    defects = DefectLog.attach();
  }

  /** A cluster with {@code engines} engines that answer immediately. */
  public static Setup of(int engines) {
    return new Setup(engines);
  }

  /** Builder of a cluster; values that are not set have their defaults, except ports and probes. */
  public static final class Setup {
    private final int count;
    private final List<String> further = new ArrayList<>();
    private final Map<String, Object> settings = new TreeMap<>();
    private SimConfig engine = SimConfig.instant().withModels(MODEL);

    private Setup(int count) {
      this.count = count;
      set("listen.port", 0).set("metrics.port", 0).set("log.level", "warn");
    }

    /** Changes the configuration of the engines. */
    public Setup engines(UnaryOperator<SimConfig> change) {
      engine = change.apply(engine);
      return this;
    }

    /** Sets a key of the configuration by its path. */
    public Setup set(String path, Object value) {
      settings.put(path, value);
      return this;
    }

    public Setup policy(String name) {
      return set("policy", name);
    }

    /** Adds an engine that the cluster does not start. */
    public Setup worker(String url) {
      further.add(url);
      return this;
    }

    /** Starts everything and waits until every worker accepts traffic. */
    public Cluster start() throws IOException {
      List<SimEngine> engines = new ArrayList<>();
      List<String> urls = new ArrayList<>(further);
      for (int i = 0; i < count; i++) {
        engines.add(SimEngine.start(engine.withId("engine-" + i)));
        urls.add(engines.getLast().url());
      }
      RunningRouter router = RunningRouter.start(yaml(urls));
      Cluster cluster = new Cluster(engines, router);
      cluster.awaitEligible(urls.size());
      return cluster;
    }

    private String yaml(List<String> urls) {
      Map<String, List<String>> groups = new LinkedHashMap<>();
      settings.forEach(
          (path, value) -> {
            int dot = path.indexOf('.');
            String group = dot < 0 ? "" : path.substring(0, dot);
            String line = path.substring(dot + 1) + ": " + value;
            groups.computeIfAbsent(group, _ -> new ArrayList<>()).add(line);
          });
      StringBuilder text = new StringBuilder("workers: [").append(String.join(", ", urls));
      text.append("]\n");
      groups.forEach(
          (group, lines) -> {
            String indent = group.isEmpty() ? "" : "  ";
            text.append(group.isEmpty() ? "" : group + ":\n");
            lines.forEach(line -> text.append(indent).append(line).append('\n'));
          });
      return text.toString();
    }
  }

  private void awaitEligible(int count) {
    WaitFor.until(
        () -> "all workers healthy: " + router.workers(),
        WaitFor.LONG,
        () ->
            router.workers().size() == count
                && router.workers().stream()
                    .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
  }

  /** The router's port for clients. */
  public int port() {
    return router.port();
  }

  public RunningRouter router() {
    return router;
  }

  public List<SimEngine> engines() {
    return engines;
  }

  public SimEngine engine(int index) {
    return engines.get(index);
  }

  /** The router's worker for an engine. */
  public Worker worker(SimEngine engine) {
    for (Worker worker : router.workers()) {
      if (worker.spec().url().equals(engine.url())) {
        return worker;
      }
    }
    throw new AssertionError("no worker at " + engine.url());
  }

  /** Waits until nothing is in flight in the router and in the engines. */
  public void awaitQuiet() {
    WaitFor.until(this::inFlight, WaitFor.LONG, this::quiet);
  }

  private boolean quiet() {
    return router.running() == 0
        && router.queued() == 0
        && router.gauge("pointsman_requests_in_flight") == 0
        && router.workers().stream().allMatch(worker -> worker.inFlight() == 0)
        && engines.stream().map(SimEngine::state).allMatch(Cluster::idle);
  }

  private static boolean idle(EngineState state) {
    return state.requests().inFlight() == 0
        && state.sequences().running() == 0
        && state.sequences().waiting() == 0;
  }

  private String inFlight() {
    StringBuilder text = new StringBuilder("nothing in flight:");
    text.append(" router running ").append(router.running());
    text.append(", queued ").append(router.queued());
    router.workers().forEach(w -> text.append(", ").append(w).append(": ").append(w.inFlight()));
    for (SimEngine engine : engines) {
      EngineState state = engine.state();
      text.append(", ").append(state.id()).append(": ").append(state.requests());
      text.append(state.sequences());
    }
    return text.toString();
  }

  /**
   * Sends requests until each engine has served one more, which shows that none is excluded
   * permanently.
   *
   * @throws AssertionError if one gets none within the limit
   */
  public void awaitAllServe() {
    Map<String, Long> before = new TreeMap<>();
    router.workers().forEach(worker -> before.put(worker.id(), worker.served()));
    int[] calls = {0};
    WaitFor.until(
        () -> "each worker serves again: " + states(),
        WaitFor.LONG,
        () -> {
          serves("everyone, call " + calls[0]++);
          return router.workers().stream()
              .allMatch(worker -> worker.served() > before.getOrDefault(worker.id(), 0L));
        });
  }

  private String states() {
    StringBuilder text = new StringBuilder();
    for (Worker worker : router.workers()) {
      text.append(worker).append(": ").append(worker.health().status());
      text.append(", breaker ").append(worker.breaker().state());
      text.append(worker.stalled() ? ", stalled" : "").append("; ");
    }
    return text.toString();
  }

  private boolean serves(String prompt) {
    String body = "{\"model\":\"%s\",\"max_tokens\":2,\"prompt\":\"%s\"}".formatted(MODEL, prompt);
    try {
      return RawClient.call(port(), "POST", "/v1/completions", body).status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** Fails if a defect was logged, a lost buffer included, or a count was negative. */
  public void verify() {
    watch.verify();
    defects.verify();
  }

  @Override
  public void close() {
    try {
      awaitQuiet();
      engines.forEach(engine -> engine.failures().clear());
      if (!engines.isEmpty()) {
        WaitFor.until(
            () -> "the router serves: " + states(), WaitFor.LONG, () -> serves("still there?"));
        awaitQuiet();
      }
      watch.verify();
    } finally {
      watch.close();
      router.close();
      engines.forEach(SimEngine::close);
      defects.close();
    }
    defects.verify();
  }
}
