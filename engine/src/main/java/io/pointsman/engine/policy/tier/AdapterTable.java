package io.pointsman.engine.policy.tier;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.FleetListener;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * Which workers have which adapters loaded: those that list them among their models, and those that
 * requests for them were placed on lately, since engines load on demand. Bounded; what was not
 * asked for longest gives way.
 *
 * <p>Reading takes no lock. A placement on a worker that has the adapter writes one time stamp;
 * only what changes the table takes its lock.
 */
public final class AdapterTable implements Learner, FleetListener {
  /** Separates the base model's name from the adapter's. */
  private static final char SEPARATOR = ':';

  private final AdapterSettings settings;
  private final Ticker ticker;
  private final ConcurrentMap<String, Entry> learned = new ConcurrentHashMap<>();

  /** How many of these each worker has. */
  private final ConcurrentMap<Worker, Integer> counts = new ConcurrentHashMap<>();

  /** Adapters that workers list, each with those workers. */
  private volatile Map<String, Set<Worker>> listed = Map.of();

  public AdapterTable(AdapterSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
  }

  /**
   * Who has an adapter, and when it was last asked for there. The set is replaced, never changed.
   */
  private static final class Entry {
    private final ConcurrentMap<Worker, Long> askedAt = new ConcurrentHashMap<>();
    private volatile Set<Worker> holders = Set.of();
  }

  /** The adapter's id, {@code base:adapter}, that a request asks for; null if it asks for none. */
  static @Nullable String asked(RoutingRequest request) {
    String model = request.model();
    return model == null || model.indexOf(SEPARATOR) <= 0 ? null : model;
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
    if (adapter == null) {
      return;
    }
    Worker worker = lease.worker();
    Entry entry = learned.get(adapter);
    if (entry != null && entry.askedAt.replace(worker, ticker.nanos()) != null) {
      return;
    }
    add(adapter, worker);
  }

  private synchronized void add(String adapter, Worker worker) {
    if (worker.left()) {
      return;
    }
    makeRoomOn(worker, adapter);
    Entry entry = learned.get(adapter);
    if (entry == null) {
      makeRoom();
      entry = new Entry();
      learned.put(adapter, entry);
    }
    if (entry.askedAt.put(worker, ticker.nanos()) == null) {
      counts.merge(worker, 1, Integer::sum);
    }
    refresh(adapter, entry);
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
    if (entry == null || entry.askedAt.remove(worker) == null) {
      return;
    }
    uncount(worker);
    if (entry.askedAt.isEmpty()) {
      learned.remove(adapter);
    }
    refresh(adapter, entry);
  }

  private void uncount(Worker worker) {
    int left = counts.getOrDefault(worker, 0) - 1;
    if (left > 0) {
      counts.put(worker, left);
    } else {
      counts.remove(worker);
    }
  }

  @Override
  public synchronized void forget(Worker worker) {
    for (String adapter : Set.copyOf(learned.keySet())) {
      drop(adapter, worker);
    }
  }

  /** Takes note of the adapters that workers list. */
  @Override
  public synchronized void changed(FleetSnapshot snapshot) {
    Map<String, Set<Worker>> now = new HashMap<>();
    for (Worker worker : snapshot.workers()) {
      for (String model : worker.models()) {
        if (model.indexOf(SEPARATOR) > 0) {
          now.computeIfAbsent(model, _ -> new HashSet<>()).add(worker);
        }
      }
    }
    Map<String, Set<Worker>> before = listed;
    now.replaceAll(
        (model, workers) -> {
          Set<Worker> known = before.get(model);
          return known != null && known.equals(workers) ? known : Set.copyOf(workers);
        });
    listed = Map.copyOf(now);
    learned.forEach(this::refresh);
  }

  private void refresh(String adapter, Entry entry) {
    Set<Worker> holders = new HashSet<>(listed.getOrDefault(adapter, Set.of()));
    holders.addAll(entry.askedAt.keySet());
    if (!holders.equals(entry.holders)) {
      entry.holders = Set.copyOf(holders);
    }
  }

  /** Takes the adapter that was not asked for longest off a worker that has as many as it keeps. */
  private void makeRoomOn(Worker worker, String coming) {
    String oldest = null;
    long oldestAt = 0;
    int count = 0;
    for (Map.Entry<String, Entry> each : learned.entrySet()) {
      Long at = each.getKey().equals(coming) ? null : each.getValue().askedAt.get(worker);
      if (at != null) {
        count++;
        if (oldest == null || at - oldestAt < 0) {
          oldest = each.getKey();
          oldestAt = at;
        }
      }
    }
    if (oldest != null && count >= settings.maxPerWorker()) {
      drop(oldest, worker);
    }
  }

  private void makeRoom() {
    if (learned.size() < settings.maxAdapters()) {
      return;
    }
    long now = ticker.nanos();
    String oldest = "";
    long oldestAge = Long.MIN_VALUE;
    for (Map.Entry<String, Entry> each : learned.entrySet()) {
      long age = Long.MAX_VALUE;
      for (long at : each.getValue().askedAt.values()) {
        age = Math.min(age, now - at);
      }
      if (age > oldestAge) {
        oldest = each.getKey();
        oldestAge = age;
      }
    }
    Entry gone = learned.remove(oldest);
    if (gone != null) {
      gone.askedAt.keySet().forEach(this::uncount);
    }
  }
}
