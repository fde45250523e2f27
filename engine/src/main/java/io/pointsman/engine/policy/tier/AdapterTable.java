package io.pointsman.engine.policy.tier;

import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * Which workers have which adapters loaded: those that list them among their models, and those that
 * requests for them were placed on lately, since engines load on demand. Bounded for each worker
 * and in all; what was not asked for longest gives way.
 *
 * <p>Reading takes no lock. Placing takes a short one: whatever the size of the table, a few steps
 * in maps that are kept in the order of the last requests.
 */
public final class AdapterTable implements Learner, FleetListener {
  /** Separates the base model's name from the adapter's. */
  private static final char SEPARATOR = ':';

  private final AdapterSettings settings;
  private final ConcurrentMap<String, Entry> learned = new ConcurrentHashMap<>();

  /** Guarded by this: the same entries, the one not asked for longest first. */
  private final Recency<Entry> order = new Recency<>();

  /** Guarded by this: the learned adapters of each worker, the one not asked for longest first. */
  private final Map<Worker, Recency<Entry>> kept = new HashMap<>();

  /** How many of these each worker has. */
  private final ConcurrentMap<Worker, Integer> counts = new ConcurrentHashMap<>();

  /** Adapters that workers list, each with those workers. */
  private volatile Map<String, Set<Worker>> listed = Map.of();

  public AdapterTable(AdapterSettings settings) {
    this.settings = settings;
  }

  /** Who has an adapter. */
  private static final class Entry {
    /** Guarded by the table: the workers that requests were placed on. */
    private final Set<Worker> placedOn = new HashSet<>();

    /** These and those that list it; the set is replaced, never changed. */
    private volatile Set<Worker> holders = Set.of();
  }

  /** By the adapter's id, in the order in which they were looked up last. */
  private static final class Recency<V> extends LinkedHashMap<String, V> {
    private static final long serialVersionUID = 1;

    Recency() {
      super(16, 0.75f, true);
    }
  }

  /**
   * The adapter's id, {@code base:adapter}, that a request asks for; null if it asks for none, or
   * for one whose id is too long to be kept.
   */
  static @Nullable String asked(RoutingRequest request) {
    String model = request.model();
    return model == null
            || model.length() > RoutingRequest.LONGEST_KEPT
            || model.indexOf(SEPARATOR) <= 0
        ? null
        : model;
  }

  /**
   * The workers that have an adapter loaded, as far as known. The same set as long as nothing has
   * changed.
   */
  Set<Worker> holders(String adapter) {
    Entry entry = learned.get(adapter);
    return entry == null ? listed.getOrDefault(adapter, Set.of()) : entry.holders;
  }

  /** Models that a worker is known to have: those that it lists, and adapters beside. */
  int count(Worker worker) {
    return worker.models().size() + counts.getOrDefault(worker, 0);
  }

  /** Adapters remembered because they were asked for. */
  public int size() {
    return learned.size();
  }

  @Override
  public void placed(RoutingRequest request, Lease lease) {
    String adapter = asked(request);
    if (adapter != null) {
      placed(adapter, lease.worker());
    }
  }

  private synchronized void placed(String adapter, Worker worker) {
    if (worker.left()) {
      return;
    }
    Recency<Entry> own = kept.computeIfAbsent(worker, _ -> new Recency<>());
    Entry entry = order.get(adapter);
    if (own.get(adapter) != null) {
      return;
    }
    if (own.size() >= settings.maxPerWorker()) {
      drop(eldest(own), worker);
    }
    if (entry == null) {
      if (order.size() >= settings.maxAdapters()) {
        giveUp(eldest(order));
      }
      entry = new Entry();
      order.put(adapter, entry);
      learned.put(adapter, entry);
    }
    entry.placedOn.add(worker);
    own.put(adapter, entry);
    counts.put(worker, own.size());
    refresh(adapter, entry);
  }

  private static String eldest(Recency<Entry> some) {
    return some.keySet().iterator().next();
  }

  /** A worker that did not answer well may not have it. */
  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {
    String adapter = outcome instanceof Outcome.Failed ? asked(request) : null;
    if (adapter != null) {
      drop(adapter, lease.worker());
    }
  }

  private synchronized void drop(String adapter, Worker worker) {
    Entry entry = learned.get(adapter);
    if (entry != null && entry.placedOn.remove(worker)) {
      takeOff(worker, adapter);
      if (entry.placedOn.isEmpty()) {
        order.remove(adapter);
        learned.remove(adapter);
      }
      refresh(adapter, entry);
    }
  }

  private void giveUp(String adapter) {
    order.remove(adapter);
    Entry gone = learned.remove(adapter);
    if (gone != null) {
      gone.placedOn.forEach(worker -> takeOff(worker, adapter));
    }
  }

  private void takeOff(Worker worker, String adapter) {
    Recency<Entry> own = kept.get(worker);
    if (own != null) {
      own.remove(adapter);
      counts.put(worker, own.size());
    }
  }

  @Override
  public synchronized void forget(Worker worker) {
    Recency<Entry> own = kept.get(worker);
    if (own != null) {
      for (String adapter : Set.copyOf(own.keySet())) {
        drop(adapter, worker);
      }
      kept.remove(worker);
    }
    counts.remove(worker);
  }

  /** Takes note of the adapters that workers list. */
  @Override
  public void changed(FleetSnapshot snapshot) {
    Map<String, Set<Worker>> now = new HashMap<>();
    for (Worker worker : snapshot.workers()) {
      for (String model : worker.models()) {
        if (model.indexOf(SEPARATOR) > 0) {
          now.computeIfAbsent(model, _ -> new HashSet<>()).add(worker);
        }
      }
    }
    list(now);
  }

  private synchronized void list(Map<String, Set<Worker>> now) {
    Map<String, Set<Worker>> before = listed;
    Set<String> touched = new HashSet<>(before.keySet());
    touched.addAll(now.keySet());
    touched.removeIf(
        model -> now.getOrDefault(model, Set.of()).equals(before.getOrDefault(model, Set.of())));
    now.replaceAll(
        (model, workers) ->
            touched.contains(model) ? Set.copyOf(workers) : before.getOrDefault(model, Set.of()));
    listed = Map.copyOf(now);
    for (String model : touched) {
      Entry entry = learned.get(model);
      if (entry != null) {
        refresh(model, entry);
      }
    }
  }

  private void refresh(String adapter, Entry entry) {
    Set<Worker> holders = new HashSet<>(listed.getOrDefault(adapter, Set.of()));
    holders.addAll(entry.placedOn);
    if (!holders.equals(entry.holders)) {
      entry.holders = Set.copyOf(holders);
    }
  }
}
