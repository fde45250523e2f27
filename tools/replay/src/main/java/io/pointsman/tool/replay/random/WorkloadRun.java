package io.pointsman.tool.replay.random;

import io.pointsman.tool.replay.peer.Capacity;
import io.pointsman.tool.replay.peer.CostPart;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.random.draw.Draw;
import io.pointsman.tool.replay.random.draw.RandomWorkload;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.sim.schedule.ServiceProfile;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs every policy on the workload of one seed. */
final class WorkloadRun {
  private final RandomOptions options;
  private final ReferenceFile reference;
  private final RandomWorkload workload;
  private final Draw draw;

  WorkloadRun(long seed, RandomOptions options, ReferenceFile reference) {
    this.options = options;
    this.reference = reference;
    draw = overridden(Draw.of(seed));
    workload = RandomWorkload.of(Draw.of(seed), options.requests());
  }

  /**
   * Uses results of earlier runs, except for the subject and {@code cost}, the policy under
   * development.
   */
  PolicyComparison run() {
    double rate = rate();
    Trace trace = workload.at(rate);
    SimulationSettings settings = settings(slow(), changes(rate));
    String fingerprint = Fingerprint.of(trace, settings);
    Map<String, Measure> measures = new LinkedHashMap<>();
    for (String policy : options.policies()) {
      boolean kept = !measures.isEmpty() && !CostPart.ofCost(policy);
      Measure known = kept ? reference.measure(draw.seed(), policy, fingerprint) : null;
      if (known == null) {
        known = Measure.of(Simulation.run(trace, ReplayPolicies.of(policy), settings));
        if (kept) {
          reference.keep(draw.seed(), policy, fingerprint, known);
        }
      }
      measures.put(policy, known);
    }
    return new PolicyComparison(draw, rate, measures);
  }

  private Draw overridden(Draw drawn) {
    return new Draw(
        drawn.seed(),
        drawn.family(),
        drawn.parts(),
        drawn.closed(),
        drawn.arrivals(),
        or(options.workers(), drawn.workers()),
        or(options.kvTokens(), drawn.kvTokens()),
        or(options.load(), drawn.load()),
        or(options.engine(), drawn.engine()),
        or(options.blockTokens(), drawn.blockTokens()),
        drawn.disturbance(),
        drawn.trouble());
  }

  private static <T> T or(@Nullable T given, T drawn) {
    return given == null ? drawn : given;
  }

  private double rate() {
    Double rate = options.rate();
    if (rate != null) {
      return rate;
    }
    Double capacity = options.capacity();
    return draw.load() * (capacity == null ? capacity() : capacity);
  }

  private double capacity() {
    SimulationSettings settings = settings(Map.of(), List.of());
    Trace flood = workload.flood();
    String fingerprint = Fingerprint.of(flood, settings);
    double known = reference.capacity(draw.seed(), fingerprint);
    if (Double.isNaN(known)) {
      known = Capacity.ofRoundRobin(flood, settings);
      reference.keepCapacity(draw.seed(), fingerprint, known);
    }
    return known;
  }

  /** The drawn worker, or the last one of a smaller fleet. */
  private Map<Integer, Double> slow() {
    Map<Integer, Double> slow = new LinkedHashMap<>();
    workload.slow().forEach((worker, factor) -> slow.put(present(worker), factor));
    return or(options.slow(), slow);
  }

  private List<Change> changes(double rate) {
    List<Change> drawn =
        workload.changes(rate).stream()
            .map(change -> new Change(change.seconds(), present(change.worker())))
            .toList();
    return or(options.changes(), drawn);
  }

  private int present(int worker) {
    return Math.min(worker, draw.workers() - 1);
  }

  private SimulationSettings settings(Map<Integer, Double> slow, List<Change> changes) {
    ServiceProfile engine = draw.engine();
    return options
        .settings()
        .make(draw.workers(), draw.kvTokens(), slow, changes, engine, draw.blockTokens());
  }
}
