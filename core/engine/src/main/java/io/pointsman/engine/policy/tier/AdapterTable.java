package io.pointsman.engine.policy.tier;

import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.LeaseView;
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
 * The workers that have each adapter loaded. A worker has an adapter if it lists it as a model. It
 * also has one if a request for it was placed there recently, because engines load on demand.
 * Bounded per worker and in total; the least recently requested is removed first.
 *
 * <p>Reading takes no lock. A placement takes a lock for a few map operations, independent of the
 * table's size.
 */
public final class AdapterTable implements Learner, FleetListener {
  /** Separates the base model's name from the adapter's. */
  private static final char SEPARATOR = ':';

  /** Guarded by this. */
  private AdapterSettings settings;

  private final ConcurrentMap<String, Entry> learned = new ConcurrentHashMap<>();

  /** Guarded by this: the same entries, least recently requested first. */
  private final Recency<Entry> order = new Recency<>();

  /** Guarded by this: the learned adapters of each worker, least recently requested first. */
  private final Map<Worker, Recency<Entry>> kept = new HashMap<>();

  /** The number of learned adapters of each worker. */
  private final ConcurrentMap<Worker, Integer> counts = new ConcurrentHashMap<>();

  /** The adapters that workers list, each with its workers. */
  private volatile Map<String, Set<Worker>> listed = Map.of();

  public AdapterTable(AdapterSettings settings) {
    this.settings = settings;
  }

  /** Uses other limits. Beyond smaller ones, the least recently requested adapters are removed. */
  public synchronized void use(AdapterSettings next) {
    settings = next;
    kept.forEach(
        (worker, own) -> {
          while (own.size() > next.maxPerWorker()) {
            drop(eldest(own), worker);
          }
        });
    while (order.size() > next.maxAdapters()) {
      giveUp(eldest(order));
    }
  }

  /** The holders of one adapter. */
  private static final class Entry {
    /** Guarded by the table: the workers that received requests for it. */
    private final Set<Worker> placedOn = new HashSet<>();

    /** These and the workers that list it; the set is replaced, never changed. */
    private volatile Set<Worker> holders = Set.of();
  }

  /** By the adapter's id, in the order of the last lookup. */
  private static final class Recency<V> extends LinkedHashMap<String, V> {
    private static final long serialVersionUID = 1;

    Recency() {
      super(16, 0.75f, true);
    }
  }

  /**
   * Returns the requested adapter's id, {@code base:adapter}. Null if the request names none, or if
   * the id is too long to be stored.
   */
  static @Nullable String asked(RoutingRequest request) {
    String model = request.model();
    return model == null
            || model.length() > RoutingRequest.LONGEST_KEPT
            || model.indexOf(SEPARATOR) <= 0
        ? null
        : model;
  }

  /** Returns the workers known to have an adapter loaded; the same set object until it changes. */
  Set<Worker> holders(String adapter) {
    Entry entry = learned.get(adapter);
    return entry == null ? listed.getOrDefault(adapter, Set.of()) : entry.holders;
  }

  /** Returns the number of models known on a worker: listed ones and learned adapters. */
  int count(Worker worker) {
    return worker.models().size() + counts.getOrDefault(worker, 0);
  }

  /** The number of adapters learned from requests. */
  public int size() {
    return learned.size();
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
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

  /** Removes the adapter after a failure, because the worker may not have loaded it. */
  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
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

  /** Records the adapters that workers list. */
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
