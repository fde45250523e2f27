package io.pointsman.tool.sim;

import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.http.SimConnectionOptions;
import io.pointsman.tool.sim.kv.KvOptions;
import io.pointsman.tool.sim.live.EngineProfile;
import io.pointsman.tool.sim.schedule.EngineLimits;
import io.pointsman.tool.sim.schedule.LinearLatency;
import io.pointsman.tool.sim.schedule.SimLatencyModel;
import io.pointsman.tool.sim.schedule.StepLatency;
import io.pointsman.tool.sim.zmq.EventOptions;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Configuration of one simulated engine. The {@code with...} methods return changed copies.
 *
 * @param host address to listen on
 * @param port 0: any free one
 * @param adminPort a second port with the same endpoints that failures never close; -1: none, 0:
 *     any free one
 * @param id value of the header {@code x-engine-id}; empty: host and port
 * @param profile identity and response defaults
 * @param limits capacity
 * @param latency model of the step times
 * @param speed engine seconds per second, above 0
 * @param connections treatment of connections
 * @param failures active from the start
 * @param kv KV transfer between engines; null: none
 * @param events KV events for changes of the prefix cache; null: none
 */
@RecordBuilder
public record SimConfig(
    String host,
    int port,
    int adminPort,
    String id,
    EngineProfile profile,
    EngineLimits limits,
    SimLatencyModel latency,
    double speed,
    SimConnectionOptions connections,
    List<ScheduledFault> failures,
    @Nullable KvOptions kv,
    @Nullable EventOptions events)
    implements SimConfigBuilder.With {
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
          SimConnectionOptions.DEFAULT,
          List.of(),
          null,
          null);

  /** Rejects a speed that is not above 0, and invalid ports. */
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

  /** The default without any delay and with every endpoint; suitable for most tests. */
  public static SimConfig instant() {
    return DEFAULT.withLatency(LinearLatency.none()).withScaleOut(true);
  }

  /**
   * Returns a copy with a constant prefill rate (0: no time) and constant decode steps (0: no
   * time).
   */
  public SimConfig withLinearLatency(double prefillTokensPerSecond, double decodeMillis) {
    return withLatency(new LinearLatency(prefillTokensPerSecond, decodeMillis));
  }

  /** Returns a copy that serves other models, the first being the base model. */
  public SimConfig withModels(String... models) {
    return withProfile(profile.withModels(List.of(models)));
  }

  /** Returns a copy with or without the scale-out endpoints. */
  public SimConfig withScaleOut(boolean scaleOut) {
    return withProfile(profile.withScaleOut(scaleOut));
  }

  /** Returns a copy with another KV memory: number of blocks, and tokens per block. */
  public SimConfig withKvMemory(int kvBlocks, int blockSize) {
    return withLimits(limits.with().kvBlocks(kvBlocks).blockSize(blockSize).build());
  }

  /** Returns a copy with another batch size. */
  public SimConfig withMaxRunning(int maxRunning) {
    return withLimits(limits.withMaxRunning(maxRunning));
  }

  /** Returns a copy with limits beyond which it rejects requests; 0: no limit. */
  public SimConfig withQueueLimits(int maxQueuedRequests, long maxQueuedTokens) {
    return withLimits(
        limits
            .with()
            .maxQueuedRequests(maxQueuedRequests)
            .maxQueuedTokens(maxQueuedTokens)
            .build());
  }
}
