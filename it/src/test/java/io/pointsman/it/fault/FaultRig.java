package io.pointsman.it.fault;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.Crowd;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.engine.EngineFault;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The router in this process in front of scripted engines, mostly one, and of healthy ones if
 * wanted, with traffic having run before. {@link #check} and closing it look at what must hold
 * after every fault: the router serves, every lease is settled and none was twice, no connection to
 * a scripted engine is left or no more than may be kept, no buffer is lost, threads and descriptors
 * are as when it was started.
 */
final class FaultRig implements AutoCloseable {
  static final String MODEL = Cluster.MODEL;

  private static final String IDLE_TIMEOUT = "pool.idle-timeout";

  /** Where connections are kept: event loops, and what each of them may keep for an engine. */
  private static final int LOOPS = 2;

  private static final int KEPT_BY_A_LOOP = 2;

  private final List<ScriptedEngine> engines;
  private final Cluster cluster;
  private final boolean keepsConnections;
  private final Residue before;

  private FaultRig(List<ScriptedEngine> engines, Cluster cluster, boolean keepsConnections)
      throws IOException {
    this.engines = engines;
    this.cluster = cluster;
    this.keepsConnections = keepsConnections;
    for (int i = 0; i < 4; i++) {
      serve();
    }
    awaitFewConnections();
    before = Residue.now();
  }

  /** With the scripted engine alone. */
  static FaultRig alone(Map<String, Object> settings) throws IOException {
    return of(1, 0, settings);
  }

  /** With so many healthy engines beside the scripted one, each in its turn. */
  static FaultRig beside(int healthy, Map<String, Object> settings) throws IOException {
    return of(1, healthy, settings);
  }

  /** With so many scripted and so many healthy engines, each in its turn. */
  static FaultRig of(int scripted, int healthy, Map<String, Object> settings) throws IOException {
    LostBuffers.watch();
    Cluster.Setup setup =
        Cluster.of(healthy)
            .policy("round_robin")
            .set("health.interval", "1h") // the traffic is to find out, not the probes
            .set(IDLE_TIMEOUT, "200ms")
            .set("retry.budget-per-second", 1_000_000) // the same fault comes over and over
            .set("breaker.enabled", false);
    settings.forEach(setup::set);
    List<ScriptedEngine> engines = new ArrayList<>();
    for (int i = 0; i < scripted; i++) {
      engines.add(ScriptedEngine.start(healthy(Faults.Answer.ok())));
      setup.worker(engines.getLast().url());
    }
    boolean keeps = "1h".equals(settings.get(IDLE_TIMEOUT));
    return new FaultRig(engines, setup.start(), keeps);
  }

  /** These settings, with a few connections kept for longer than any test takes. */
  static Map<String, Object> keepingConnections(Map<String, Object> settings) {
    Map<String, Object> more = new TreeMap<>(settings);
    more.put(IDLE_TIMEOUT, "1h");
    more.put("event-loop-threads", LOOPS);
    more.put("pool.max-idle-per-worker", KEPT_BY_A_LOOP);
    return more;
  }

  /** Has healthy engines, as the router sees it too. */
  void ready() throws IOException {
    heal();
    Await.until(
        "all workers are healthy",
        Await.LONG,
        () -> cluster.router().workers().stream().allMatch(w -> w.health().healthy()));
  }

  static EngineScript healthy(EngineScript script) {
    return new Faults.Healthy(MODEL, script);
  }

  int port() {
    return cluster.port();
  }

  Cluster cluster() {
    return cluster;
  }

  /** The scripted engine, or the first of them. */
  ScriptedEngine engine() {
    return engines.getFirst();
  }

  List<ScriptedEngine> engines() {
    return engines;
  }

  /** Makes the scripted engine misbehave from now on. */
  void strike(EngineFault fault) throws IOException {
    fault.strike(engine(), MODEL);
  }

  /** Requests that the scripted engine got, probes aside. */
  long requestsSeen() {
    return engine().requests().stream().filter(FaultRig::isTraffic).count();
  }

  /**
   * The router's view of the scripted engine, or of the first of them, when nothing is under way.
   */
  Worker worker() {
    cluster.awaitQuiet();
    for (Worker worker : cluster.router().workers()) {
      if (worker.spec().url().equals(engine().url())) {
        return worker;
      }
    }
    throw new AssertionError("no worker at " + engine().url());
  }

  private static boolean isTraffic(EngineRequest request) {
    return request.line().startsWith("POST ");
  }

  /**
   * Of the requests that the scripted engine got, from the one of index {@code from} on, those that
   * came on a connection which had carried another one.
   */
  int onUsedConnections(int from) {
    Set<Integer> used = new HashSet<>();
    int found = 0;
    List<EngineRequest> requests = engine().requests();
    for (int i = 0; i < requests.size(); i++) {
      boolean again = !used.add(requests.get(i).connection());
      found += again && i >= from && isTraffic(requests.get(i)) ? 1 : 0;
    }
    return found;
  }

  /**
   * Of the requests that the scripted engine got, from the one of index {@code from} on, those that
   * are not like the normal ones of {@link #serve}.
   */
  List<EngineRequest> unlikeNormal(int from) {
    List<EngineRequest> requests = engine().requests();
    return requests.subList(from, requests.size()).stream()
        .filter(request -> isTraffic(request) && !request.bodyText().equals(request(false)))
        .toList();
  }

  /**
   * Waits until the connections to the scripted engine are closed by which requests came, from the
   * one of index {@code from} on, and those of numbers above {@code opened}, read from or not.
   *
   * @return how many those are
   */
  int awaitLeft(int from, int opened) throws IOException {
    engine().deaf(false); // what it does not read, it does not see end either
    List<EngineRequest> requests = engine().requests();
    Set<Integer> met = new HashSet<>();
    requests.subList(from, requests.size()).forEach(request -> met.add(request.connection()));
    for (int number = opened + 1; number <= engine().connections(); number++) {
      met.add(number);
    }
    for (int connection : met) {
      Await.until(
          "connection " + connection + ", which met the fault, is closed",
          Await.LONG,
          () -> !engine().isOpen(connection));
    }
    return met.size();
  }

  /** What each of many clients does. */
  @FunctionalInterface
  interface Doing {
    /**
     * @param number of the client, from 0 on
     */
    void by(int number) throws Exception;
  }

  /** Has so many clients do it at once that a thing lost with each of them is found. */
  static void byMany(Doing doing) throws Exception {
    Crowd.of(
        Residue.FOUND,
        number ->
            () -> {
              doing.by(number);
              return number;
            });
  }

  /** Sends a normal request. */
  Answer serve() throws IOException {
    return RawClient.call(port(), "POST", "/v1/completions", request(false));
  }

  static String request(boolean stream) {
    return "{\"model\":\"%s\",\"max_tokens\":2,\"stream\":%s,\"prompt\":\"hello\"}"
        .formatted(MODEL, stream);
  }

  private void heal() throws IOException {
    for (ScriptedEngine engine : engines) {
      engine.now(healthy(Faults.Answer.ok()));
      engine.deaf(false);
      engine.listenAgain();
    }
  }

  private int connections() {
    return engines.stream().mapToInt(ScriptedEngine::openConnections).sum();
  }

  /** Waits until no more of them are left than may be. */
  private void awaitFewConnections() {
    int most = keepsConnections ? LOOPS * KEPT_BY_A_LOOP * engines.size() : 0;
    Await.until(
        () -> "connections to the engine: " + connections() + " (expected: at most " + most + ")",
        Await.LONG,
        () -> connections() <= most);
  }

  private boolean serves() {
    try {
      return serve().status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** Makes the engines healthy again and checks what must hold after every fault. */
  void check() throws IOException {
    cluster.awaitQuiet();
    heal();
    Await.until("the router serves", Await.LONG, this::serves);
    cluster.awaitQuiet();
    awaitFewConnections();
    before.verify();
    LostBuffers.tell();
    cluster.verify();
  }

  @Override
  public void close() throws IOException {
    try (cluster) {
      check();
    } finally {
      for (ScriptedEngine engine : engines) {
        engine.close();
      }
    }
  }
}
