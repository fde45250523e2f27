package io.pointsman.replay.run;

import io.pointsman.engine.policy.catalog.PolicySettings;
import java.util.List;
import java.util.Map;

/**
 * What is simulated.
 *
 * @param workers engines at the beginning, at least 1
 * @param kvTokens KV memory of each, in tokens
 * @param slow for engines by index, so many times the usual step time
 * @param changes engines that are lost or come, in the order of their times
 * @param seed of all chance
 * @param policies knobs of the production policies
 */
public record SimulationSettings(
    int workers,
    int kvTokens,
    Map<Integer, Double> slow,
    List<Change> changes,
    long seed,
    PolicySettings policies) {
  public SimulationSettings {
    slow = Map.copyOf(slow);
    changes = List.copyOf(changes);
    if (workers < 1 || workers > 16_384) {
      throw new IllegalArgumentException("workers: " + workers + " (expected: 1 to 16384)");
    }
    if (kvTokens < 1024) {
      throw new IllegalArgumentException("kv-tokens: " + kvTokens + " (expected: at least 1024)");
    }
    slow.forEach(
        (worker, factor) -> {
          if (!(factor > 0 && factor <= 1000)) {
            throw new IllegalArgumentException(
                "slow: %d=%s (expected: a factor above 0, at most 1000)".formatted(worker, factor));
          }
        });
  }

  /**
   * A change of the fleet.
   *
   * @param seconds when, from the beginning
   * @param worker index of the engine; one that is there is lost, one that is not comes, empty
   */
  public record Change(double seconds, int worker) {}
}
