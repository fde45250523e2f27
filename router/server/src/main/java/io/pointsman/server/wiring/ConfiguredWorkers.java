package io.pointsman.server.wiring;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies a changed list of configured workers to a fleet. Compares with the fleet itself, because
 * others add and remove workers too.
 */
final class ConfiguredWorkers {
  private static final Logger log = LoggerFactory.getLogger(ConfiguredWorkers.class);

  private static final WorkerSource SELF = WorkerSource.CONFIGURATION;

  private final Fleet fleet;
  private final WorkerSources sources;

  ConfiguredWorkers(Fleet fleet, WorkerSources sources) {
    this.fleet = fleet;
    this.sources = sources;
  }

  /**
   * Adds workers of {@code next} that the fleet lacks or has with other settings. Removes workers
   * that are only in {@code before} and that no other source names. An engine that others added
   * under another id stays unchanged.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   */
  void change(List<WorkerSpec> before, List<WorkerSpec> next) {
    FleetSnapshot now = fleet.snapshot();
    Set<String> named = next.stream().map(WorkerSpec::id).collect(Collectors.toSet());
    List<Worker> going = new ArrayList<>();
    List<String> left = new ArrayList<>();
    for (WorkerSpec spec : before) {
      Worker worker = now.sameEngine(spec);
      if (worker == null || named.contains(spec.id())) {
        continue;
      }
      boolean own = worker.id().equals(spec.id()) && fleet.holds(spec);
      if (own && !sources.heldByOthers(SELF, worker)) {
        going.add(worker);
      } else {
        left.add(worker.id());
      }
    }
    List<WorkerSpec> coming = new ArrayList<>();
    Map<WorkerSpec, Worker> shared = new LinkedHashMap<>();
    for (WorkerSpec spec : next) {
      Worker present = now.sameEngine(spec);
      if (present == null || going.contains(present)) {
        coming.add(spec);
      } else if (present.id().equals(spec.id())) {
        if (!fleet.holds(spec)) {
          going.add(present);
          coming.add(spec);
        } else {
          shared.put(spec, present);
        }
      } else if (named.contains(present.id())) {
        coming.add(spec);
      } else {
        log.info("{} is not added: its engine is already worker {}", spec.id(), present);
        shared.put(spec, present);
      }
    }
    fleet.replace(going, coming);
    going.forEach(worker -> forget(worker, coming));
    left.forEach(id -> sources.release(SELF, id));
    FleetSnapshot changed = fleet.snapshot();
    for (WorkerSpec spec : coming) {
      Worker worker = changed.worker(spec.id());
      if (worker != null) {
        sources.replaced(SELF, worker, spec);
      }
    }
    shared.forEach(
        (spec, worker) -> {
          Worker present = changed.worker(worker.id());
          if (present != null) {
            sources.hold(SELF, present, spec);
          }
        });
  }

  /** Ends the interest in a removed worker; a replacement keeps its other sources. */
  private void forget(Worker worker, List<WorkerSpec> coming) {
    if (coming.stream().noneMatch(each -> each.id().equals(worker.id()))) {
      sources.release(SELF, worker.id());
    }
  }
}
