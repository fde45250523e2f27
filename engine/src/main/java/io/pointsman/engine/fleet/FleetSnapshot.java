package io.pointsman.engine.fleet;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * All workers at one moment, with a pool for every model and role. Immutable; a higher version is
 * newer.
 */
public final class FleetSnapshot {
  private final long version;
  private final List<Worker> workers;
  private final Map<String, Worker> byId;
  private final Map<Worker, ServedModels> served;
  private final Map<Role, Pool> byRole = new EnumMap<>(Role.class);
  private final Map<Role, Map<String, Pool>> byModel = new EnumMap<>(Role.class);
  private final Map<Role, Pool> ofAnyModel = new EnumMap<>(Role.class);
  private final Set<String> modelsToName;

  /**
   * Keeps the pools of {@code before} that have not changed, so that what is built upon them need
   * not be built again.
   *
   * @param workers by id, in the order of the snapshot
   * @param served what each of them serves
   */
  FleetSnapshot(
      long version,
      Map<String, Worker> workers,
      Map<Worker, ServedModels> served,
      @Nullable FleetSnapshot before,
      LoadBoard board) {
    this.version = version;
    this.served = Map.copyOf(served);
    this.workers = List.copyOf(workers.values());
    byId = Map.copyOf(workers);
    for (Role role : Role.values()) {
      List<Worker> ofRole = this.workers.stream().filter(w -> w.spec().role() == role).toList();
      Pool all = pool(ofRole, before == null ? null : before.pool(role), board);
      byRole.put(role, all);
      byModel.put(role, poolsByModel(all, before == null ? Map.of() : before.models(role), board));
      List<Worker> any = all.workers().stream().filter(w -> models(w).any()).toList();
      if (!any.isEmpty()) {
        Pool known = before == null ? null : before.ofAnyModel.get(role);
        ofAnyModel.put(role, any.size() == all.size() ? all : pool(any, known, board));
      }
    }
    modelsToName =
        differ(this.served.values()) ? Collections.unmodifiableSet(modelNames()) : Set.of();
  }

  /** Whether there is no model that all serve who name theirs. */
  private static boolean differ(Collection<ServedModels> served) {
    Set<String> common = null;
    for (ServedModels each : served) {
      if (common == null && !each.names().isEmpty()) {
        common = new HashSet<>(each.names());
      } else if (common != null && !each.names().isEmpty()) {
        common.retainAll(each.names());
      }
    }
    return common != null && common.isEmpty();
  }

  private Map<String, Pool> poolsByModel(Pool all, Map<String, Pool> before, LoadBoard board) {
    Map<String, List<Worker>> lists = new HashMap<>();
    for (Worker worker : all.workers()) {
      for (String model : models(worker).names()) {
        lists.putIfAbsent(model, new ArrayList<>());
      }
    }
    for (Worker worker : all.workers()) {
      if (models(worker).any()) {
        lists.values().forEach(list -> list.add(worker));
      } else {
        models(worker)
            .names()
            .forEach(model -> lists.computeIfAbsent(model, _ -> new ArrayList<>()).add(worker));
      }
    }
    Map<String, Pool> pools = new HashMap<>();
    lists.forEach(
        (model, list) ->
            pools.put(
                model, list.size() == all.size() ? all : pool(list, before.get(model), board)));
    return Map.copyOf(pools);
  }

  private static Pool pool(List<Worker> workers, @Nullable Pool before, LoadBoard board) {
    return before != null && before.workers().equals(workers) ? before : new Pool(workers, board);
  }

  public long version() {
    return version;
  }

  public List<Worker> workers() {
    return workers;
  }

  /** The worker with this id, or null. */
  public @Nullable Worker worker(String id) {
    return byId.get(id);
  }

  /**
   * The worker that stands for the engine and the rank of {@code spec}, whoever has added it: the
   * one with its id, else one at its URL. Null if there is none. Looks at all workers.
   */
  public @Nullable Worker sameEngine(WorkerSpec spec) {
    Worker named = byId.get(spec.id());
    if (named != null) {
      return named;
    }
    for (Worker worker : workers) {
      if (worker.spec().url().equals(spec.url()) && worker.spec().rank() == spec.rank()) {
        return worker;
      }
    }
    return null;
  }

  /** What a worker serves, as this snapshot shows it; not known of one that is not in it. */
  public ServedModels models(Worker worker) {
    return served.getOrDefault(worker, ServedModels.UNKNOWN);
  }

  /** All workers of a role, whatever they serve. */
  @SuppressWarnings("NullAway") // every role has a pool
  public Pool pool(Role role) {
    return byRole.get(role);
  }

  /** The workers of a role that serve {@code model}; null if none is known to. */
  public @Nullable Pool pool(Role role, String model) {
    Pool named = models(role).get(model);
    return named == null ? ofAnyModel(role) : named;
  }

  /** The workers of a role that do not tell their models and serve any; null if there are none. */
  public @Nullable Pool ofAnyModel(Role role) {
    return ofAnyModel.get(role);
  }

  /** The models named by workers of a role, each with the pool of those that serve it. */
  public Map<String, Pool> models(Role role) {
    return byModel.getOrDefault(role, Map.of());
  }

  /** The names of all models served, sorted. */
  public Set<String> modelNames() {
    Set<String> names = new TreeSet<>();
    byModel.values().forEach(pools -> names.addAll(pools.keySet()));
    return names;
  }

  /**
   * The models of which a request must name one, sorted; empty if it need not name any, since there
   * is a model that all workers serve, adapters or further names beside.
   */
  public Set<String> modelsToName() {
    return modelsToName;
  }
}
