package io.pointsman.tool.replay.random;

import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.sim.schedule.ServiceProfile;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The options of a run of random workloads; null means the drawn value.
 *
 * @param policies the first one is compared with the others
 * @param requests number of requests per workload, at least 1
 * @param threads number of workloads that run at once
 * @param workers number of engines
 * @param kvTokens KV memory of each engine
 * @param load relative to the capacity
 * @param rate requests per second, instead of the load
 * @param capacity requests per second at load 1.0, instead of the measured one
 * @param engine kind of the engines
 * @param blockTokens tokens per block of an engine
 * @param slow slow engines
 * @param changes engines that fail or join
 * @param settings builds the settings of a run
 */
public record RandomOptions(
    List<String> policies,
    int requests,
    int threads,
    @Nullable Integer workers,
    @Nullable Integer kvTokens,
    @Nullable Double load,
    @Nullable Double rate,
    @Nullable Double capacity,
    @Nullable ServiceProfile engine,
    @Nullable Integer blockTokens,
    @Nullable Map<Integer, Double> slow,
    @Nullable List<Change> changes,
    SettingsMaker settings) {
  /** Default number of requests of a workload. */
  public static final int REQUESTS = 2500;

  /** {@code cost}, the routers compared with it, and the bounds. */
  public static final List<String> POLICIES =
      List.of(
          "cost",
          "round_robin",
          "least_load",
          "power_of_two",
          "cache_aware",
          "llm_d",
          "dynamo_tuned",
          "vllm_kv_aware",
          "greedy",
          "greedy_price");

  public RandomOptions {
    if (threads < 1 || threads > 1024) {
      throw new IllegalArgumentException("threads: " + threads + " (expected: 1 to 1024)");
    }
    policies = List.copyOf(policies);
  }

  /** Builds settings from the drawn values and those common to all workloads. */
  @FunctionalInterface
  public interface SettingsMaker {
    SimulationSettings make(
        int workers,
        int kvTokens,
        Map<Integer, Double> slow,
        List<Change> changes,
        ServiceProfile engine,
        int blockTokens);
  }
}
