package io.pointsman.sim;

import io.pointsman.sim.failure.Failure;
import io.pointsman.sim.http.ConnectionOptions;
import io.pointsman.sim.kv.KvOptions;
import io.pointsman.sim.live.EngineProfile;
import io.pointsman.sim.schedule.EngineLimits;
import io.pointsman.sim.schedule.LatencyModel;
import io.pointsman.sim.schedule.LinearLatency;
import io.pointsman.sim.schedule.StepLatency;
import io.pointsman.sim.zmq.EventOptions;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How one simulated engine is set up. The {@code with...} methods give changed copies.
 *
 * @param host address to listen on
 * @param port 0: any free one
 * @param adminPort a second port with the same endpoints that failures never close; -1: none, 0:
 *     any free one
 * @param id value of the header {@code x-engine-id}; empty: host and port
 * @param profile who it says it is and how it answers
 * @param limits what it can hold
 * @param latency how long its steps take
 * @param speed engine seconds per second, above 0
 * @param connections how connections are treated
 * @param failures switched on from the start
 * @param kv how KV is handed over between engines; null: the engine keeps to itself
 * @param events how changes of the prefix cache are announced; null: not at all
 */
public record SimConfig(
    String host,
    int port,
    int adminPort,
    String id,
    EngineProfile profile,
    EngineLimits limits,
    LatencyModel latency,
    double speed,
    ConnectionOptions connections,
    List<Failure> failures,
    @Nullable KvOptions kv,
    @Nullable EventOptions events) {
  /** An engine on any free port of the loopback address with the step model and default limits. */
  public static final SimConfig DEFAULT =
      new SimConfig(
          "127.0.0.1",
          0,
          -1,
          "",
          EngineProfile.DEFAULT,
          EngineLimits.DEFAULT,
          new StepLatency(),
          1,
          ConnectionOptions.DEFAULT,
          List.of(),
          null,
          null);

  /** Refuses a speed that is not above 0, and what is no port. */
  public SimConfig {
    checkPort("port", port, 0);
    checkPort("admin-port", adminPort, -1);
    if (!(speed > 0)) {
      throw new IllegalArgumentException("speed: " + speed + " (expected: above 0)");
    }
    failures = List.copyOf(failures);
  }

  private static void checkPort(String name, int port, int least) {
    if (port < least || port > 65_535) {
      throw new IllegalArgumentException(
          name + ": " + port + " (expected: " + least + " to 65535)");
    }
  }

  /** The default with no delays at all and every endpoint served: what most tests want. */
  public static SimConfig instant() {
    return DEFAULT.withLatency(LinearLatency.none()).withScaleOut(true);
  }

  /** A copy that listens on another port. */
  public SimConfig withPort(int newPort) {
    return new SimConfig(
        host,
        newPort,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy that listens on another address. */
  public SimConfig withHost(String newHost) {
    return new SimConfig(
        newHost,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy with a second port that failures never close. */
  public SimConfig withAdminPort(int newPort) {
    return new SimConfig(
        host,
        port,
        newPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy with another id. */
  public SimConfig withId(String newId) {
    return new SimConfig(
        host,
        port,
        adminPort,
        newId,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy with another profile. */
  public SimConfig withProfile(EngineProfile newProfile) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        newProfile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy with other limits. */
  public SimConfig withLimits(EngineLimits newLimits) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        newLimits,
        latency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy with another service model. */
  public SimConfig withLatency(LatencyModel newLatency) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        newLatency,
        speed,
        connections,
        failures,
        kv,
        events);
  }

  /**
   * A copy whose prefill has a constant rate (0: no time) and whose decode steps take a constant
   * time (0: none).
   */
  public SimConfig withLinearLatency(double prefillTokensPerSecond, double decodeMillis) {
    return withLatency(new LinearLatency(prefillTokensPerSecond, decodeMillis));
  }

  /** A copy whose time passes at another speed. */
  public SimConfig withSpeed(double newSpeed) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        newSpeed,
        connections,
        failures,
        kv,
        events);
  }

  /** A copy that treats connections otherwise. */
  public SimConfig withConnections(ConnectionOptions newConnections) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        newConnections,
        failures,
        kv,
        events);
  }

  /** A copy with failures switched on from the start. */
  public SimConfig withFailures(List<Failure> newFailures) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        newFailures,
        kv,
        events);
  }

  /** A copy that hands KV over to other engines or takes it over. */
  public SimConfig withHandOver(KvOptions newKv) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        newKv,
        events);
  }

  /** A copy that announces changes of its prefix cache. */
  public SimConfig withEvents(EventOptions newEvents) {
    return new SimConfig(
        host,
        port,
        adminPort,
        id,
        profile,
        limits,
        latency,
        speed,
        connections,
        failures,
        kv,
        newEvents);
  }

  /** A copy that serves other models, the first being the base model. */
  public SimConfig withModels(String... models) {
    return withProfile(
        new EngineProfile(
            Arrays.asList(models),
            profile.outputTokens(),
            profile.embeddingDimensions(),
            profile.maxStoredResponses(),
            profile.scaleOut(),
            profile.seed()));
  }

  /** A copy that serves the scale-out endpoints or not. */
  public SimConfig withScaleOut(boolean scaleOut) {
    return withProfile(
        new EngineProfile(
            profile.models(),
            profile.outputTokens(),
            profile.embeddingDimensions(),
            profile.maxStoredResponses(),
            scaleOut,
            profile.seed()));
  }

  /** A copy with another KV memory: blocks, and tokens per block. */
  public SimConfig withKv(int kvBlocks, int blockSize) {
    return withLimits(
        new EngineLimits(
            kvBlocks,
            blockSize,
            limits.maxRunning(),
            limits.maxBatchedTokens(),
            limits.maxModelLen(),
            limits.maxQueuedRequests(),
            limits.maxQueuedTokens(),
            limits.rules()));
  }

  /** A copy with another batch size. */
  public SimConfig withMaxRunning(int maxRunning) {
    return withLimits(
        new EngineLimits(
            limits.kvBlocks(),
            limits.blockSize(),
            maxRunning,
            limits.maxBatchedTokens(),
            limits.maxModelLen(),
            limits.maxQueuedRequests(),
            limits.maxQueuedTokens(),
            limits.rules()));
  }

  /** A copy that turns requests away; 0: no limit. */
  public SimConfig withQueueLimits(int maxQueuedRequests, long maxQueuedTokens) {
    return withLimits(
        new EngineLimits(
            limits.kvBlocks(),
            limits.blockSize(),
            limits.maxRunning(),
            limits.maxBatchedTokens(),
            limits.maxModelLen(),
            maxQueuedRequests,
            maxQueuedTokens,
            limits.rules()));
  }
}
