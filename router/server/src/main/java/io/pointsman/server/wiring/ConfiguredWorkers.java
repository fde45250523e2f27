package io.pointsman.server.wiring;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.List;
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

  private final Fleet fleet;

  ConfiguredWorkers(Fleet fleet) {
    this.fleet = fleet;
  }

  /**
   * Adds workers of {@code next} that the fleet lacks or has with other settings. Removes workers
   * that are only in {@code before}. An engine that others added under another id stays unchanged.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   */
  void change(List<WorkerSpec> before, List<WorkerSpec> next) {
    FleetSnapshot now = fleet.snapshot();
    Set<String> named = next.stream().map(WorkerSpec::id).collect(Collectors.toSet());
    List<Worker> going = new ArrayList<>();
    for (WorkerSpec spec : before) {
      Worker worker = now.worker(spec.id());
      if (worker != null && !named.contains(spec.id()) && fleet.holds(spec)) {
        going.add(worker);
      }
    }
    List<WorkerSpec> coming = new ArrayList<>();
    for (WorkerSpec spec : next) {
      Worker present = now.sameEngine(spec);
      if (present == null || going.contains(present)) {
        coming.add(spec);
      } else if (present.id().equals(spec.id())) {
        if (!fleet.holds(spec)) {
          going.add(present);
          coming.add(spec);
        }
      } else if (named.contains(present.id())) {
        coming.add(spec);
      } else {
        log.info("{} is not added: its engine is already worker {}", spec.id(), present);
      }
    }
    fleet.replace(going, coming);
  }
}
