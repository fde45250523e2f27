package io.pointsman.engine.fleet;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The sources of each worker of a fleet. An engine that several sources name is one worker. It has
 * the properties that its first source gives, and leaves the fleet with its last source. A worker
 * that something else has added, for example the worker API, does not leave with its sources.
 *
 * <p>A worker that was removed from the fleet by something else stays out until its source adds it
 * again. Thread-safe.
 */
public final class WorkerSources {
  private final Fleet fleet;

  /** By id of the worker. */
  private final Map<String, Shared> shared = new HashMap<>();

  /** The ids of the workers of each source that {@link #follow} has changed, by its own spec. */
  private final Map<WorkerSource, Map<WorkerSpec, String>> followed =
      new EnumMap<>(WorkerSource.class);

  /** A worker and its sources, the first one first. */
  private static final class Shared {
    private Worker worker;
    private final boolean outside;
    private final Map<WorkerSource, WorkerSpec> specs = new LinkedHashMap<>();

    /**
     * @param outside true if no source has added the worker
     */
    Shared(Worker worker, boolean outside) {
      this.worker = worker;
      this.outside = outside;
    }
  }

  public WorkerSources(Fleet fleet) {
    this.fleet = fleet;
  }

  /**
   * Adds workers for a source. A worker that is present under the id stays as it is.
   *
   * @throws IllegalStateException if the fleet is full; workers before that one stay added
   */
  public synchronized void add(WorkerSource source, Collection<WorkerSpec> specs) {
    FleetSnapshot before = fleet.snapshot();
    try {
      fleet.addAll(specs);
    } finally {
      FleetSnapshot now = fleet.snapshot();
      for (WorkerSpec spec : specs) {
        Worker worker = now.worker(spec.id());
        if (worker != null && sameEngine(worker.spec(), spec)) {
          note(source, worker, spec, before.worker(spec.id()) == worker);
        }
      }
    }
  }

  /**
   * The sources of a worker at one moment, for {@link #restore}.
   *
   * @param specs by source, the first one first
   */
  public record Saved(boolean outside, Map<WorkerSource, WorkerSpec> specs) {
    /** No source has named the worker. */
    private static final Saved NONE = new Saved(true, Map.of());

    public Saved {
      specs = Collections.unmodifiableMap(new LinkedHashMap<>(specs));
    }
  }

  /** The present sources of a worker. */
  public synchronized Saved saved(Worker worker) {
    Shared known = shared.get(worker.id());
    return known == null || known.worker != worker
        ? Saved.NONE
        : new Saved(known.outside, known.specs);
  }

  /**
   * Takes back the changes of one source at a worker, in its order before. Changes by other sources
   * stay.
   *
   * @param present the worker that has this id again
   */
  public synchronized void restore(WorkerSource source, Worker present, Saved before) {
    Shared known = shared.get(present.id());
    Map<WorkerSource, WorkerSpec> now = known == null ? Map.of() : known.specs;
    Shared next = new Shared(present, before.outside);
    before.specs.forEach(
        (each, spec) -> {
          WorkerSpec its = each == source ? spec : now.get(each);
          if (its != null) {
            next.specs.put(each, its);
          }
        });
    now.forEach(
        (each, spec) -> {
          if (each != source) {
            next.specs.putIfAbsent(each, spec);
          }
        });
    if (next.specs.isEmpty()) {
      shared.remove(present.id());
    } else {
      shared.put(present.id(), next);
    }
  }

  /** Adds a source to a present worker, which then stays until this source drops it too. */
  public synchronized void hold(WorkerSource source, Worker worker, WorkerSpec spec) {
    note(source, worker, spec, true);
  }

  private void note(WorkerSource source, Worker worker, WorkerSpec spec, boolean present) {
    Shared known = shared.get(worker.id());
    if (known != null && known.worker == worker) {
      known.specs.put(source, spec);
    } else {
      renew(known, new Shared(worker, present), source, spec);
    }
  }

  /** Puts the other sources of the worker that had this id before behind the new source. */
  private void renew(@Nullable Shared before, Shared after, WorkerSource source, WorkerSpec spec) {
    after.specs.put(source, spec);
    if (before != null) {
      before.specs.forEach(after.specs::putIfAbsent);
    }
    shared.put(after.worker.id(), after);
  }

  /** True if this source names the worker. */
  public synchronized boolean has(WorkerSource source, Worker worker) {
    Shared known = shared.get(worker.id());
    return known != null && known.worker == worker && known.specs.containsKey(source);
  }

  /** True if something else than this source wants the worker, too. */
  public synchronized boolean listedByOthers(WorkerSource source, Worker worker) {
    Shared known = shared.get(worker.id());
    return known != null
        && known.worker == worker
        && known.specs.keySet().stream().anyMatch(each -> each != source);
  }

  /** Records that a worker was replaced by another one with its id. */
  public synchronized void replaced(WorkerSource source, Worker next, WorkerSpec spec) {
    renew(shared.get(next.id()), new Shared(next, false), source, spec);
  }

  /**
   * Ends the interest of a source. The worker leaves if no other source names it. If another one
   * does and gives it another role, other models or limits, it is replaced.
   *
   * @return true if the worker has left the fleet
   */
  public synchronized boolean release(WorkerSource source, String id) {
    return release(source, id, new ArrayList<>());
  }

  /**
   * Ends the interest of a source as {@link #release(WorkerSource, String)}.
   *
   * @param gone gets a worker that another one replaces, for {@link Fleet#restore}
   */
  public synchronized boolean release(
      WorkerSource source, String id, Collection<FormerWorker> gone) {
    Shared known = shared.get(id);
    if (known == null || !known.specs.containsKey(source)) {
      return false;
    }
    boolean first = known.specs.keySet().iterator().next() == source;
    known.specs.remove(source);
    if (known.specs.isEmpty()) {
      shared.remove(id);
      return !known.outside && fleet.remove(known.worker);
    }
    WorkerSpec next = known.specs.values().iterator().next();
    if (first && !known.outside && !servesAlike(known.worker.spec(), next)) {
      replace(known, next, gone);
    }
    return false;
  }

  private void replace(Shared known, WorkerSpec next, Collection<FormerWorker> gone) {
    Worker before = known.worker;
    if (!before.left()) {
      WorkerSpec renamed =
          new WorkerSpec(
              before.id(),
              next.url(),
              next.role(),
              next.models(),
              next.rank(),
              next.maxInFlight(),
              next.labels());
      try {
        fleet.replace(List.of(before), List.of(renamed), gone);
      } catch (IllegalStateException _) {
        return; // The fleet is full of workers that end their requests; this one stays.
      }
      Worker now = fleet.snapshot().worker(before.id());
      known.worker = now == null ? before : now;
    }
  }

  private static boolean servesAlike(WorkerSpec one, WorkerSpec other) {
    return one.role() == other.role()
        && one.models().equals(other.models())
        && one.weight() == other.weight()
        && one.maxInFlight() == other.maxInFlight();
  }

  /**
   * Makes these the workers of a source, all or none.
   *
   * @param again true to add workers again that something else has removed
   * @throws IllegalStateException if the fleet has no room for all
   * @throws IllegalArgumentException if another engine has the id of one of them
   */
  public synchronized void follow(
      WorkerSource source, Collection<WorkerSpec> wanted, boolean again) {
    Set<WorkerSpec> all = new LinkedHashSet<>(wanted);
    Map<WorkerSpec, String> before = followed.getOrDefault(source, Map.of());
    Map<WorkerSpec, String> after = new LinkedHashMap<>();
    List<String> leaving = new ArrayList<>();
    Set<Worker> going = new HashSet<>();
    before.forEach(
        (spec, id) -> {
          if (!all.contains(spec)) {
            leaving.add(id);
            Worker last = lastListed(source, id);
            if (last != null) {
              going.add(last);
            }
          }
        });
    FleetSnapshot now = fleet.snapshot();
    List<WorkerSpec> coming = new ArrayList<>();
    Map<WorkerSpec, Worker> joined = new LinkedHashMap<>();
    for (WorkerSpec spec : all) {
      String id = before.get(spec);
      if (id != null && (!again || now.worker(id) != null)) {
        after.put(spec, id);
        continue;
      }
      Worker present = now.sameEngine(spec);
      if (present == null || going.contains(present)) {
        coming.add(spec);
      } else if (sameEngine(present.spec(), spec)) {
        joined.put(spec, present);
      } else {
        throw new IllegalArgumentException(
            spec.id()
                + " is the id of the worker at "
                + present.spec().url()
                + " (expected: another id for the worker at "
                + spec.url()
                + ", as in {url: "
                + spec.url()
                + ", id: NAME})");
      }
    }
    fleet.replace(going, coming);
    // Workers of other sources stay when this source leaves them.
    leaving.forEach(id -> release(source, id));
    FleetSnapshot changed = fleet.snapshot();
    for (WorkerSpec spec : coming) {
      Worker worker = changed.worker(spec.id());
      if (worker != null) {
        note(source, worker, spec, false);
        after.put(spec, worker.id());
      }
    }
    joined.forEach(
        (spec, worker) -> {
          Worker present = worker.left() ? changed.worker(worker.id()) : worker;
          if (present != null) {
            hold(source, present, spec);
            after.put(spec, present.id());
          }
        });
    followed.put(source, after);
  }

  /** The worker if this source alone keeps it in the fleet; otherwise null. */
  private @Nullable Worker lastListed(WorkerSource source, String id) {
    Shared known = shared.get(id);
    if (known == null || known.outside || known.worker.left()) {
      return null;
    }
    return known.specs.keySet().equals(Set.of(source)) ? known.worker : null;
  }

  /** Number of workers in the fleet that a source names. */
  public synchronized int count(WorkerSource source) {
    return (int)
        shared.values().stream()
            .filter(each -> each.specs.containsKey(source) && !each.worker.left())
            .count();
  }

  private static boolean sameEngine(WorkerSpec one, WorkerSpec other) {
    return one.base().equals(other.base()) && one.rank() == other.rank();
  }
}
