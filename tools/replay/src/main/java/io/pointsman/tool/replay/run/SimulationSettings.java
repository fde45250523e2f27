package io.pointsman.tool.replay.run;

import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.tool.sim.schedule.ServiceProfile;
import io.pointsman.tool.sim.schedule.ServiceProfiles;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The settings of a simulation.
 *
 * @param workers initial number of engines, at least 1
 * @param kvTokens KV memory of each, in tokens
 * @param slow factor of the usual step time, for engines by index
 * @param changes engines that fail or join, in the order of their times
 * @param seed of all random draws
 * @param policies settings of the production policies
 * @param announcements the engines' KV events; null: none, and prompts are identified by the
 *     trace's hashes
 * @param unreported 0: engines report cache hits, and lengths are exact. Above 0, below 1: they do
 *     not report, and the router's lengths differ by up to this share, constant per conversation.
 * @param deferral settings for deferred requests
 * @param engine the kind of the engines
 * @param blockTokens tokens per block of an engine; 0: 64 if the trace's blocks can be divided into
 *     it, else the trace's
 */
public record SimulationSettings(
    int workers,
    int kvTokens,
    Map<Integer, Double> slow,
    List<Change> changes,
    long seed,
    PolicySettings policies,
    @Nullable Announcements announcements,
    double unreported,
    DeferralSettings deferral,
    ServiceProfile engine,
    int blockTokens) {
  /** Uses engines of the default kind. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies,
      @Nullable Announcements announcements,
      double unreported,
      DeferralSettings deferral) {
    this(
        workers,
        kvTokens,
        slow,
        changes,
        seed,
        policies,
        announcements,
        unreported,
        deferral,
        ServiceProfiles.DEFAULT,
        0);
  }

  /** Uses the router's default settings for deferred requests. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies,
      @Nullable Announcements announcements,
      double unreported) {
    this(
        workers,
        kvTokens,
        slow,
        changes,
        seed,
        policies,
        announcements,
        unreported,
        DeferralSettings.DEFAULTS);
  }

  /** Uses engines that report their cache hits. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies,
      @Nullable Announcements announcements) {
    this(workers, kvTokens, slow, changes, seed, policies, announcements, 0);
  }

  /** Uses no KV events. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies) {
    this(workers, kvTokens, slow, changes, seed, policies, null);
  }

  public SimulationSettings {
    slow = Map.copyOf(slow);
    changes = List.copyOf(changes);
    if (workers < 1 || workers > 16_384) {
      throw new IllegalArgumentException("workers: " + workers + " (expected: 1 to 16384)");
    }
    if (!(unreported >= 0 && unreported < 1)) {
      throw new IllegalArgumentException(
          "unreported: " + unreported + " (expected: 0 to less than 1)");
    }
    if (blockTokens < 0 || blockTokens > 4096) {
      throw new IllegalArgumentException(
          "block-size: " + blockTokens + " (expected: 1 to 4096, or 0)");
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
    requireEngines(slow, workers, changes);
  }

  /** Returns the same fleet without slow engines and changes. */
  public SimulationSettings undisturbed() {
    return new SimulationSettings(
        workers,
        kvTokens,
        Map.of(),
        List.of(),
        seed,
        policies,
        null,
        0,
        deferral,
        engine,
        blockTokens);
  }

  private static void requireEngines(Map<Integer, Double> slow, int workers, List<Change> changes) {
    slow.forEach(
        (worker, factor) -> {
          boolean there = worker >= 0 && worker < workers;
          if (!there && changes.stream().noneMatch(change -> change.worker() == worker)) {
            throw new IllegalArgumentException(
                "slow: %d=%s (expected: an engine that is there or comes)"
                    .formatted(worker, factor));
          }
        });
  }

  /**
   * The engines' KV events with token ids, generated from the trace's hashes; prompts are token ids
   * too.
   *
   * @param lateSeconds delay of events; infinite if there are none
   * @param lost share of batches that are lost, 0 to 1
   * @param text true if prompts are text instead, so events reveal only capacities and clears
   */
  public record Announcements(double lateSeconds, double lost, boolean text) {
    /** Uses prompts of token ids. */
    public Announcements(double lateSeconds, double lost) {
      this(lateSeconds, lost, false);
    }

    public Announcements {
      if (!(lateSeconds >= 0) || !(lost >= 0 && lost <= 1)) {
        throw new IllegalArgumentException(
            "kv-events: " + lateSeconds + ", " + lost + " (expected: at least 0, and 0 to 1)");
      }
    }

    boolean any() {
      return lateSeconds < Double.POSITIVE_INFINITY;
    }
  }

  /**
   * A change of the fleet.
   *
   * @param seconds time from the beginning
   * @param worker index of the engine; a present one fails, an absent one joins with an empty cache
   */
  public record Change(double seconds, int worker) {
    public Change {
      if (!(seconds >= 0 && seconds < 1e9) || worker < 0) {
        throw new IllegalArgumentException(
            "change: %s=%d (expected: seconds and an engine, both at least 0)"
                .formatted(seconds, worker));
      }
    }
  }
}
