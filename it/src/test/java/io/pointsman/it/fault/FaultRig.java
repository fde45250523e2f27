package io.pointsman.it.fault;

import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.engine.EngineFault;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.Map;

/**
 * The router in this process in front of one scripted engine, and of healthy ones if wanted, with
 * traffic having run before. {@link #check} and closing it look at what must hold after every
 * fault: the router serves, every lease is settled and none was twice, no connection to the engine
 * is left, no buffer is lost, threads and descriptors are as before.
 */
final class FaultRig implements AutoCloseable {
  static final String MODEL = Cluster.MODEL;

  private final ScriptedEngine engine;
  private final Cluster cluster;
  private Residue before;

  private FaultRig(ScriptedEngine engine, Cluster cluster) throws IOException {
    this.engine = engine;
    this.cluster = cluster;
    for (int i = 0; i < 4; i++) {
      serve();
    }
    before = Residue.now();
  }

  /** With the scripted engine alone. */
  static FaultRig alone(Map<String, Object> settings) throws IOException {
    return beside(0, settings);
  }

  /** With so many healthy engines beside the scripted one, each in its turn. */
  static FaultRig beside(int healthy, Map<String, Object> settings) throws IOException {
    Residue.watchBuffers();
    ScriptedEngine engine = ScriptedEngine.start(healthy(Faults.Answer.ok()));
    Cluster.Setup setup =
        Cluster.of(healthy)
            .worker(engine.url())
            .policy("round_robin")
            .set("health.interval", "1h") // the traffic is to find out, not the probes
            .set("pool.idle-timeout", "200ms")
            .set("breaker.enabled", false);
    settings.forEach(setup::set);
    return new FaultRig(engine, setup.start());
  }

  /**
   * Has a healthy engine, and takes what there is now for what there is to be after the next fault.
   */
  void mark() throws IOException {
    heal();
    Await.until(
        "all workers are healthy",
        Await.LONG,
        () -> cluster.router().workers().stream().allMatch(w -> w.health().healthy()));
    before = Residue.now();
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

  ScriptedEngine engine() {
    return engine;
  }

  /** Makes the scripted engine misbehave from now on. */
  void strike(EngineFault fault) throws IOException {
    fault.strike(engine, MODEL);
  }

  /** Requests that the scripted engine got, probes aside. */
  long requestsSeen() {
    return engine.requests().stream().filter(r -> r.line().startsWith("POST ")).count();
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
    engine.now(healthy(Faults.Answer.ok()));
    engine.deaf(false);
    engine.listenAgain();
  }

  private void awaitNoConnections() {
    Await.until(
        () -> "connections to the engine: " + engine.openConnections() + " (expected: none)",
        Await.LONG,
        () -> engine.openConnections() == 0);
  }

  private boolean serves() {
    try {
      return serve().status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  /** Makes the engine healthy again and checks what must hold after every fault. */
  void check() throws IOException {
    cluster.awaitQuiet();
    heal();
    Await.until("the router serves", Await.LONG, this::serves);
    cluster.awaitQuiet();
    awaitNoConnections();
    before.verify();
  }

  @Override
  public void close() throws IOException {
    try (engine) {
      try (cluster) {
        check();
      }
    }
  }
}
