package io.pointsman.it.fault;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
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
 * A router in this process with scripted engines, mostly one, optional healthy engines, and earlier
 * traffic. {@link #check} and closing verify the state after each fault. The router serves, and
 * every lease is settled exactly once. At most the permitted connections to scripted engines are
 * open. No buffer is lost, and threads and descriptors are as at the start.
 */
final class FaultRig implements AutoCloseable {
  static final String MODEL = Cluster.MODEL;

  private static final String IDLE_TIMEOUT = "pool.idle-timeout";

  /** Limits of kept connections: event loops, and connections per loop and engine. */
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

  /** A rig with only the scripted engine. */
  static FaultRig alone(Map<String, Object> settings) throws IOException {
    return of(1, 0, settings);
  }

  /** A rig with healthy engines beside the scripted one, used in turn. */
  static FaultRig beside(int healthy, Map<String, Object> settings) throws IOException {
    return of(1, healthy, settings);
  }

  /** A rig with scripted and healthy engines, used in turn. */
  static FaultRig of(int scripted, int healthy, Map<String, Object> settings) throws IOException {
    LostBuffers.watch();
    Cluster.Setup setup =
        Cluster.of(healthy)
            .policy("round_robin")
            .set("health.interval", "1h") // the traffic must detect the fault, not the probes
            .set(IDLE_TIMEOUT, "200ms")
            .set("retry.budget-per-second", 1_000_000) // the same fault occurs repeatedly
            .set("retry.poison-entries", 0)
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

  /** Adds settings that keep a few connections longer than any test. */
  static Map<String, Object> keepingConnections(Map<String, Object> settings) {
    Map<String, Object> more = new TreeMap<>(settings);
    more.put(IDLE_TIMEOUT, "1h");
    more.put("event-loop-threads", LOOPS);
    more.put("pool.max-idle-per-worker", KEPT_BY_A_LOOP);
    return more;
  }

  /** Makes the engines healthy and waits until the router sees them as healthy. */
  void ready() throws IOException {
    heal();
    WaitFor.until("all workers are healthy", WaitFor.LONG, cluster.router()::allHealthy);
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

  /** Makes the scripted engine show this fault. */
  void strike(EngineFault fault) throws IOException {
    fault.strike(engine(), MODEL);
  }

  /** Number of requests at the scripted engine, without probes. */
  long requestsSeen() {
    return engine().requests().stream().filter(FaultRig::isTraffic).count();
  }

  /** The router's worker for the scripted engine, or the first of them, when nothing is active. */
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
   * Number of requests from index {@code from} on at the scripted engine that came on a reused
   * connection.
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
   * Requests from index {@code from} on at the scripted engine that differ from the normal ones of
   * {@link #serve}.
   */
  List<EngineRequest> unlikeNormal(int from) {
    List<EngineRequest> requests = engine().requests();
    return requests.subList(from, requests.size()).stream()
        .filter(request -> isTraffic(request) && !request.bodyText().equals(request(false)))
        .toList();
  }

  /**
   * Waits until a connection to the scripted engine meets its fault, and until all that did are
   * closed: those of requests from index {@code from} on, and those with numbers above {@code
   * opened}.
   */
  void awaitLeft(int from, int opened) throws IOException {
    // The engine may accept a connection after the router has given it up.
    WaitFor.until("a connection meets the fault", WaitFor.LONG, () -> !met(from, opened).isEmpty());
    engine().unresponsive(false); // an unresponsive engine does not notice the end of a connection
    for (int connection : met(from, opened)) {
      WaitFor.until(
          "connection " + connection + ", which met the fault, is closed",
          WaitFor.LONG,
          () -> !engine().isOpen(connection));
    }
  }

  private Set<Integer> met(int from, int opened) {
    List<EngineRequest> requests = engine().requests();
    Set<Integer> met = new HashSet<>();
    requests.subList(from, requests.size()).forEach(request -> met.add(request.connection()));
    for (int number = opened + 1; number <= engine().connections(); number++) {
      met.add(number);
    }
    return met;
  }

  /** The action of each of many clients. */
  @FunctionalInterface
  interface Doing {
    /**
     * @param number number of the client, from 0
     */
    void by(int number) throws Exception;
  }

  /** Runs the action with so many clients that a leak in each is detected. */
  static void byMany(Doing doing) throws Exception {
    ConcurrentClients.of(
        Residue.FOUND,
        number ->
            () -> {
              doing.by(number);
              return number;
            });
  }

  /** Sends a normal request. */
  HttpAnswer serve() throws IOException {
    return RawClient.call(port(), "POST", "/v1/completions", request(false));
  }

  static String request(boolean stream) {
    return "{\"model\":\"%s\",\"max_tokens\":2,\"stream\":%s,\"prompt\":\"hello\"}"
        .formatted(MODEL, stream);
  }

  private void heal() throws IOException {
    for (ScriptedEngine engine : engines) {
      engine.now(healthy(Faults.Answer.ok()));
      engine.unresponsive(false);
      engine.listenAgain();
    }
  }

  private int connections() {
    return engines.stream().mapToInt(ScriptedEngine::openConnections).sum();
  }

  /** Waits until only the permitted number of connections is left. */
  private void awaitFewConnections() {
    int most = keepsConnections ? LOOPS * KEPT_BY_A_LOOP * engines.size() : 0;
    WaitFor.until(
        () -> "connections to the engine: " + connections() + " (expected: at most " + most + ")",
        WaitFor.LONG,
        () -> connections() <= most);
  }

  private boolean serves() {
    try {
      return serve().status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** Makes the engines healthy and verifies the state that must follow every fault. */
  void check() throws IOException {
    cluster.awaitQuiet();
    heal();
    WaitFor.until("the router serves", WaitFor.LONG, this::serves);
    cluster.awaitQuiet();
    awaitFewConnections();
    before.verify();
    LostBuffers.log();
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
