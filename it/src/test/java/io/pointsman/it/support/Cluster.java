package io.pointsman.it.support;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import io.pointsman.sim.live.EngineState;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;

/**
 * Simulated engines and the router in front of them, in this process, wired from configuration as
 * the program wires itself. Closing it checks what must hold after everything: nothing is in flight
 * anywhere, no count was ever negative, nobody logged a defect, and the router still serves.
 */
public final class Cluster implements AutoCloseable {
  /** The model that every engine serves. */
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

  /** A cluster with {@code engines} engines that answer at once. */
  public static Setup of(int engines) {
    return new Setup(engines);
  }

  /**
   * What a cluster is made of; everything that is not set is as shipped, ports and probes aside.
   */
  public static final class Setup {
    private final int count;
    private final List<String> further = new ArrayList<>();
    private final Map<String, Object> settings = new TreeMap<>();
    private SimConfig engine = SimConfig.instant().withModels(MODEL);

    private Setup(int count) {
      this.count = count;
      set("listen.port", 0).set("metrics.port", 0).set("log.level", "warn");
    }

    /** Changes how the engines are set up. */
    public Setup engines(UnaryOperator<SimConfig> change) {
      engine = change.apply(engine);
      return this;
    }

    /** Chooses a value of the configuration, by its path. */
    public Setup set(String path, Object value) {
      settings.put(path, value);
      return this;
    }

    public Setup policy(String name) {
      return set("policy", name);
    }

    /** Puts an engine behind the router that the cluster does not start. */
    public Setup worker(String url) {
      further.add(url);
      return this;
    }

    /** Starts everything and waits until every worker takes traffic. */
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
    Await.until(
        () -> "all workers healthy: " + router.workers(),
        Await.LONG,
        () ->
            router.workers().size() == count
                && router.workers().stream()
                    .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
  }

  /** The port of the router. */
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

  /** The router's view of an engine. */
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
    Await.until(this::inFlight, Await.LONG, this::quiet);
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
   * Sends requests until each engine has served one more, so that none is left alone for good.
   *
   * @throws AssertionError if one gets none within the limit
   */
  public void awaitAllServe() {
    Map<String, Long> before = new TreeMap<>();
    router.workers().forEach(worker -> before.put(worker.id(), worker.served()));
    int[] calls = {0};
    Await.until(
        () -> "each worker serves again: " + states(),
        Await.LONG,
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

  /** Fails if so far a defect was logged, a lost buffer among them, or a count was below zero. */
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
        Await.until(
            () -> "the router serves: " + states(), Await.LONG, () -> serves("still there?"));
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
