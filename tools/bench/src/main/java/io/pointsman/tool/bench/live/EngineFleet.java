package io.pointsman.tool.bench.live;

import io.netty.channel.EventLoopGroup;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.live.EngineState;
import io.pointsman.tool.sim.schedule.EngineLimits;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Simulated engines with empty caches, in this process. As in {@code replay}, they use steps of
 * 8,192 tokens, 256 sequences and blocks of 64 tokens.
 */
final class EngineFleet implements AutoCloseable {
  private static final int LOOPS = 2;
  private static final int BLOCK_TOKENS = 64;
  private static final int STEP_TOKENS = 8192;
  private static final int BATCH = 256;

  private final EventLoopGroup loops = SimEngine.newGroup(LOOPS);
  private final List<SimEngine> engines = new ArrayList<>();

  private EngineFleet() {}

  /**
   * Starts the engines.
   *
   * @param count number of engines
   * @param kvTokens KV memory of each engine in tokens
   * @param speed engine seconds per second
   */
  static EngineFleet start(int count, int kvTokens, double speed) {
    EngineLimits limits =
        new EngineLimits(
            Math.max(1, kvTokens / BLOCK_TOKENS), BLOCK_TOKENS, BATCH, STEP_TOKENS, kvTokens, 0, 0);
    EngineFleet fleet = new EngineFleet();
    try {
      for (int i = 0; i < count; i++) {
        SimConfig config =
            SimConfig.DEFAULT
                .withId("engine-" + i)
                .withModels(TracePrompts.MODEL)
                .withScaleOut(true)
                .withLimits(limits)
                .withSpeed(speed);
        fleet.engines.add(SimEngine.start(config, fleet.loops));
      }
      return fleet;
    } catch (RuntimeException e) {
      fleet.close();
      throw e;
    }
  }

  List<String> urls() {
    return engines.stream().map(SimEngine::url).toList();
  }

  /** Number of engines without a completed response. */
  long unused() {
    return engines.stream().filter(e -> e.state().requests().served() == 0).count();
  }

  void resetCounters() {
    engines.forEach(SimEngine::resetCounters);
  }

  /**
   * Ratio of the largest number of prompt tokens that an engine computed to the mean; 1 without
   * tokens.
   */
  double imbalance() {
    double most = 0;
    double sum = 0;
    for (SimEngine engine : engines) {
      EngineState.Tokens tokens = engine.state().tokens();
      double computed = tokens.cacheQueries() - tokens.cacheHits();
      most = Math.max(most, computed);
      sum += computed;
    }
    return sum == 0 ? 1 : most / (sum / engines.size());
  }

  @Override
  public void close() {
    engines.forEach(SimEngine::close);
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }
}
