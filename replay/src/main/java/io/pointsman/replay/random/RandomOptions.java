package io.pointsman.replay.random;

import io.pointsman.replay.run.SimulationSettings;
import io.pointsman.replay.run.SimulationSettings.Change;
import io.pointsman.sim.schedule.ServiceProfile;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a run of random workloads is told; null stands for what is drawn.
 *
 * @param policies the first one is compared with the others
 * @param requests of each workload, at least 1
 * @param threads workloads that run at once
 * @param workers engines
 * @param kvTokens KV memory of each
 * @param load in parts of the capacity
 * @param rate requests a second, instead of the load
 * @param capacity requests a second that load 1.0 stands for, instead of the measured
 * @param engine kind of the engines
 * @param blockTokens tokens of an engine's block
 * @param slow engines that are slow
 * @param changes engines that are lost or come
 * @param settings makes the settings of a run
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
  /** Requests of a workload if nothing else is asked for. */
  public static final int REQUESTS = 2500;

  /** What {@code cost} is compared with, and the bounds. */
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

  /** Makes settings of what was drawn and of what is the same for all workloads. */
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
