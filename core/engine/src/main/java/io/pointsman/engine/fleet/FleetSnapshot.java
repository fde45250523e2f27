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
 * All workers at one moment, with a pool for each model and role. Immutable; a higher version is
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
   * Reuses the unchanged pools of {@code before}, so structures built on them stay valid.
   *
   * @param workers by id, in the order of the snapshot
   * @param served the models of each worker
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

  /**
   * Returns true if workers report models, but have none in common. Workers without a report are
   * ignored.
   */
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
    return before != null && before.isOf(workers) ? before : new Pool(workers, board);
  }

  public long version() {
    return version;
  }

  public List<Worker> workers() {
    return workers;
  }

  /** Returns the worker with this id, or null. */
  public @Nullable Worker worker(String id) {
    return byId.get(id);
  }

  /**
   * Returns the worker for the engine and rank of {@code spec}, independent of its source: by id,
   * else by URL and rank. Returns null if there is none. Takes time linear in the number of
   * workers.
   */
  public @Nullable Worker sameEngine(WorkerSpec spec) {
    Worker named = byId.get(spec.id());
    if (named != null) {
      return named;
    }
    for (Worker worker : workers) {
      if (worker.spec().base().equals(spec.base()) && worker.spec().rank() == spec.rank()) {
        return worker;
      }
    }
    return null;
  }

  /**
   * Returns the models of a worker in this snapshot; {@link ServedModels#UNKNOWN} if it is not a
   * member.
   */
  public ServedModels models(Worker worker) {
    return served.getOrDefault(worker, ServedModels.UNKNOWN);
  }

  /** All workers of a role, for any model. */
  @SuppressWarnings("NullAway") // every role has a pool
  public Pool pool(Role role) {
    return byRole.get(role);
  }

  /** Returns the workers of a role that serve {@code model}; null if none is known to serve it. */
  public @Nullable Pool pool(Role role, String model) {
    Pool named = models(role).get(model);
    return named == null ? ofAnyModel(role) : named;
  }

  /**
   * Returns the workers of a role that report no models and are assumed to serve any; null if there
   * are none.
   */
  public @Nullable Pool ofAnyModel(Role role) {
    return ofAnyModel.get(role);
  }

  /** The models named by workers of a role, each with its pool. */
  public Map<String, Pool> models(Role role) {
    return byModel.getOrDefault(role, Map.of());
  }

  /** The names of all served models, sorted. */
  public Set<String> modelNames() {
    Set<String> names = new TreeSet<>();
    byModel.values().forEach(pools -> names.addAll(pools.keySet()));
    return names;
  }

  /**
   * The sorted names of models, if a request must name one. Empty if all workers have a model in
   * common, or none reports any.
   */
  public Set<String> modelsToName() {
    return modelsToName;
  }
}
