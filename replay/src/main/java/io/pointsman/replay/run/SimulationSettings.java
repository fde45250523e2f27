package io.pointsman.replay.run;

import io.pointsman.engine.holdback.HoldBackSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.sim.schedule.ServiceProfile;
import io.pointsman.sim.schedule.ServiceProfiles;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is simulated.
 *
 * @param workers engines at the beginning, at least 1
 * @param kvTokens KV memory of each, in tokens
 * @param slow for engines by index, so many times the usual step time
 * @param changes engines that are lost or come, in the order of their times
 * @param seed of all chance
 * @param policies knobs of the production policies
 * @param announcements what engines announce of their caches; null if prompts are told by the
 *     trace's hashes and nothing is announced
 * @param untold engines do not tell what they found in their caches, and the router takes prompts
 *     to be longer or shorter than they are by up to this share, each conversation by its own; 0 to
 *     less than 1, where 0 tells it everything
 * @param holdBack when requests are held back in the router
 * @param engine the kind of the engines
 * @param blockTokens tokens of an engine's block; 0: 64 where blocks of the trace can be cut to it,
 *     else the trace's own
 */
public record SimulationSettings(
    int workers,
    int kvTokens,
    Map<Integer, Double> slow,
    List<Change> changes,
    long seed,
    PolicySettings policies,
    @Nullable Announcements announcements,
    double untold,
    HoldBackSettings holdBack,
    ServiceProfile engine,
    int blockTokens) {
  /** With engines of the default kind. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies,
      @Nullable Announcements announcements,
      double untold,
      HoldBackSettings holdBack) {
    this(
        workers,
        kvTokens,
        slow,
        changes,
        seed,
        policies,
        announcements,
        untold,
        holdBack,
        ServiceProfiles.DEFAULT,
        0);
  }

  /** With requests held back as the router does unless told otherwise. */
  public SimulationSettings(
      int workers,
      int kvTokens,
      Map<Integer, Double> slow,
      List<Change> changes,
      long seed,
      PolicySettings policies,
      @Nullable Announcements announcements,
      double untold) {
    this(
        workers,
        kvTokens,
        slow,
        changes,
        seed,
        policies,
        announcements,
        untold,
        HoldBackSettings.DEFAULTS);
  }

  /** With engines that tell what they found. */
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

  /** Without announcements. */
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
    if (!(untold >= 0 && untold < 1)) {
      throw new IllegalArgumentException("untold: " + untold + " (expected: 0 to less than 1)");
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

  /** The same fleet, undisturbed: no engine is slow, none is lost or comes. */
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
        holdBack,
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
   * Engines announce their caches by token ids, made up from the trace's hashes; prompts come as
   * such too.
   *
   * @param lateSeconds how late announcements are; infinite if there are none
   * @param lost share of batches that get lost, 0 to 1
   * @param text prompts come as text instead, so that only sizes and clears can be learned
   */
  public record Announcements(double lateSeconds, double lost, boolean text) {
    /** With prompts as token ids. */
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
   * @param seconds when, from the beginning
   * @param worker index of the engine; one that is there is lost, one that is not comes, empty
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
