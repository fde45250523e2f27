package io.pointsman.server.wiring;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.FormerWorker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
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

  /** The last change; null before the first, and after an undo. */
  private @Nullable Change last;

  /**
   * Effect of one change, without the state before it.
   *
   * @param gone workers that have left
   * @param added workers that have come
   * @param sources the sources before, by id of the worker
   */
  private record Change(
      List<FormerWorker> gone, List<Worker> added, Map<String, WorkerSources.Saved> sources) {}

  ConfiguredWorkers(Fleet fleet, WorkerSources sources) {
    this.fleet = fleet;
    this.sources = sources;
  }

  /**
   * Adds workers of {@code next} that the fleet lacks or has with other settings. Removes workers
   * that are only in {@code earlier} and that no other source names. An engine that others added
   * under another id stays unchanged. {@link #undo} undoes exactly this.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   */
  void change(List<WorkerSpec> earlier, List<WorkerSpec> next) {
    last = null;
    FleetSnapshot now = fleet.snapshot();
    Set<String> named = next.stream().map(WorkerSpec::id).collect(Collectors.toSet());
    List<Worker> going = new ArrayList<>();
    Map<WorkerSpec, Worker> left = new LinkedHashMap<>();
    for (WorkerSpec spec : earlier) {
      Worker worker = now.sameEngine(spec);
      if (worker == null || named.contains(spec.id())) {
        continue;
      }
      boolean own = worker.id().equals(spec.id()) && fleet.holds(spec);
      if (own && !sources.listedByOthers(SELF, worker)) {
        going.add(worker);
      } else {
        left.put(spec, worker);
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
    Map<String, WorkerSources.Saved> before =
        Stream.of(going, left.values(), shared.values())
            .flatMap(Collection::stream)
            .distinct()
            .collect(Collectors.toMap(Worker::id, sources::saved));
    List<Worker> added = new ArrayList<>();
    List<FormerWorker> gone = new ArrayList<>();
    last = new Change(gone, added, before);
    try {
      fleet.replace(going, coming, gone);
    } finally {
      // Also after the failure of a listener, which does not end the change of the fleet.
      addNew(coming.stream().map(WorkerSpec::id).toList(), now, added);
    }
    going.forEach(worker -> forget(worker, coming));
    try {
      left.values().forEach(worker -> sources.release(SELF, worker.id(), gone));
    } finally {
      addNew(left.values().stream().map(Worker::id).toList(), now, added);
    }
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

  /** Adds the workers with these ids that were not in the fleet before. */
  private void addNew(Collection<String> ids, FleetSnapshot before, List<Worker> added) {
    FleetSnapshot changed = fleet.snapshot();
    for (String id : ids) {
      Worker worker = changed.worker(id);
      if (worker != null && !worker.equals(before.worker(id))) {
        added.add(worker);
      }
    }
  }

  /**
   * Undoes the last change: its workers leave, and the workers that it removed come back with their
   * state. Workers that were there before the change and after it stay, from any source.
   *
   * @throws IllegalStateException if there is no room for all that come back; the others are back
   */
  void undo() {
    Change change = last;
    if (change == null) {
      return;
    }
    last = null;
    try {
      fleet.restore(change.added, change.gone);
    } finally {
      FleetSnapshot now = fleet.snapshot();
      for (Worker each : change.added) {
        if (now.worker(each.id()) == null) {
          sources.release(SELF, each.id());
        }
      }
      change.sources.forEach(
          (id, before) -> {
            Worker present = now.worker(id);
            if (present != null) {
              sources.restore(SELF, present, before);
            }
          });
    }
  }

  /** Ends the interest in a removed worker; a replacement keeps its other sources. */
  private void forget(Worker worker, List<WorkerSpec> coming) {
    if (coming.stream().noneMatch(each -> each.id().equals(worker.id()))) {
      sources.release(SELF, worker.id());
    }
  }
}
