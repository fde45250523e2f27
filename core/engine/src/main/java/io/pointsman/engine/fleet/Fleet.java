package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * The registry of all workers. Changes are serialised, and each publishes a new immutable snapshot.
 * The routing path reads the newest snapshot without a lock. Any thread may call it. Its lock is
 * never held during blocking operations.
 */
public final class Fleet {
  private volatile FleetSettings settings;
  private final Ticker ticker;
  private final LoadBoard board;
  private final EjectionLimit ejections;
  private final long bornAt;
  private final BitSet slotsInUse = new BitSet();

  /** By id, in order of registration. */
  private final Map<String, Worker> workers = new LinkedHashMap<>();

  /** The models of each worker, for the next snapshot. */
  private final Map<Worker, ServedModels> served = new HashMap<>();

  private final List<Worker> leaving = new ArrayList<>();
  private final List<FleetListener> listeners = new CopyOnWriteArrayList<>();
  private volatile FleetSnapshot snapshot;

  public Fleet(FleetSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    bornAt = ticker.nanos();
    board = new LoadBoard(settings.maxWorkers());
    snapshot = new FleetSnapshot(0, Map.of(), Map.of(), null, board);
    ejections = new EjectionLimit(settings.breaker().maxEjectedShare(), this::snapshot);
  }

  /** The newest snapshot. */
  public FleetSnapshot snapshot() {
    return snapshot;
  }

  /**
   * Calls {@code listener} with the current snapshot and each later one, in order, on the thread
   * that makes the change.
   */
  public synchronized void listen(FleetListener listener) {
    listeners.add(listener);
    listener.changed(snapshot);
  }

  /** Ends the calls of a listener that was added with {@link #listen}. */
  public synchronized void ignore(FleetListener listener) {
    listeners.remove(listener);
  }

  /** Calls {@code action} with the newest snapshot while the fleet cannot change. */
  public synchronized void exclusively(FleetListener action) {
    action.changed(snapshot);
  }

  /**
   * Replaces the settings of health, breakers and stalls, for present and future workers.
   *
   * @throws IllegalArgumentException if another setting differs
   */
  public synchronized void configure(FleetSettings next) {
    if (!settings.withLive(next).equals(next)) {
      throw new IllegalArgumentException(
          "maxWorkers, maxPrefills: changed (expected: a new fleet)");
    }
    settings = next;
    ejections.share(next.breaker().maxEjectedShare());
    workers.values().forEach(worker -> worker.configure(next));
    leaving.forEach(worker -> worker.configure(next));
  }

  /**
   * Adds a worker. It receives requests after its first successful health probe.
   *
   * @return the worker, or the present one with this id
   * @throws IllegalStateException if the fleet is full
   */
  public Worker add(WorkerSpec spec) {
    return addAll(List.of(spec)).getFirst();
  }

  /**
   * Adds workers as one change. For many workers this is much cheaper than single additions,
   * because listeners rebuild their state once.
   *
   * @return for each spec the worker, or the present one with its id
   * @throws IllegalStateException if the fleet is full; workers before that one stay added
   */
  public synchronized List<Worker> addAll(Collection<WorkerSpec> specs) {
    int before = workers.size();
    try {
      return specs.stream().map(this::register).toList();
    } finally {
      if (workers.size() > before) {
        publish();
      }
    }
  }

  private Worker register(WorkerSpec spec) {
    Worker present = workers.get(spec.id());
    return present == null ? register(spec, freeSlot()) : present;
  }

  private Worker register(WorkerSpec spec, int slot) {
    Worker worker = new Worker(limited(spec), slot, board, settings, ejections, ticker, bornAt);
    slotsInUse.set(slot);
    workers.put(spec.id(), worker);
    served.put(worker, ServedModels.configured(spec.models()));
    return worker;
  }

  /**
   * Adds copies of another fleet's workers as one change, each in the slot of its original. State
   * kept by slot is then valid for both fleets. A copy that is already present stays unchanged.
   *
   * @return true if all copies are present. False if a leaving worker still has a needed slot, or a
   *     slot exceeds this fleet's limit.
   */
  public synchronized boolean addCopies(Collection<Worker> originals) {
    releaseSlots();
    boolean all = true;
    int before = workers.size();
    for (Worker original : originals) {
      boolean present = workers.containsKey(original.id());
      int slot = original.slot();
      if (!present && slot < settings.maxWorkers() && !slotsInUse.get(slot)) {
        register(original.spec(), slot);
      } else {
        all &= present;
      }
    }
    if (workers.size() > before) {
      publish();
    }
    return all;
  }

  private WorkerSpec limited(WorkerSpec spec) {
    boolean unlimited = spec.role() == Role.PREFILL && spec.maxInFlight() == 0;
    return unlimited ? spec.withMaxInFlight(settings.maxPrefills()) : spec;
  }

  /**
   * Removes a worker. It receives no further request; those in flight continue to their end.
   *
   * @return null if no worker has this id
   */
  public synchronized @Nullable Worker remove(String id) {
    Worker worker = workers.remove(id);
    if (worker != null) {
      served.remove(worker);
      worker.leave();
      leaving.add(worker);
      publish();
    }
    return worker;
  }

  /**
   * Removes this worker object, but not another worker with the same id.
   *
   * @return true if it was in the fleet
   */
  public synchronized boolean remove(Worker worker) {
    return has(worker) && remove(worker.id()) != null;
  }

  private boolean has(Worker worker) {
    return workers.get(worker.id()) == worker;
  }

  /** Returns true if the fleet has a worker that was added with an equal spec. */
  public synchronized boolean holds(WorkerSpec spec) {
    Worker worker = workers.get(spec.id());
    return worker != null && worker.spec().equals(limited(spec));
  }

  /**
   * Removes workers and adds others, or changes nothing. A worker that leaves keeps its slot while
   * it has requests in flight.
   *
   * @throws IllegalStateException if there are not enough slots for the new workers; nothing is
   *     changed then
   */
  public synchronized void replace(Collection<Worker> going, Collection<WorkerSpec> coming) {
    List<Worker> closed = going.stream().filter(worker -> !worker.draining()).toList();
    // Their loads can only fall now, so a slot counted as free becomes free.
    closed.forEach(worker -> worker.drain(true));
    releaseSlots();
    long idle = going.stream().filter(worker -> has(worker) && worker.inFlight() == 0).count();
    long needed = slotsInUse.cardinality() - idle + coming.size();
    if (needed > settings.maxWorkers()) {
      closed.forEach(worker -> worker.drain(false));
      throw new IllegalStateException(
          "workers: "
              + needed
              + ", including leaving ones with requests in flight (expected: at most "
              + settings.maxWorkers()
              + ")");
    }
    going.forEach(this::remove);
    addAll(coming);
  }

  /**
   * Records the models that a worker reports.
   *
   * @param models empty if the worker reports none; it is then assumed to serve any model
   */
  public void learnModels(Worker worker, Set<String> models) {
    learnModels(Map.of(worker, ServedModels.reported(models)));
  }

  /** Records the models that workers report, as one change. */
  public synchronized void learnModels(Map<Worker, ServedModels> learned) {
    boolean changed = false;
    for (Map.Entry<Worker, ServedModels> each : learned.entrySet()) {
      Worker worker = each.getKey();
      if (workers.get(worker.id()) == worker) {
        changed |= !each.getValue().equals(served.put(worker, each.getValue()));
      }
    }
    if (changed) {
      publish();
    }
  }

  /** Checks all workers for stalls; to be called about once per second. */
  public void checkStalls() {
    if (!settings.stall().enabled()) {
      return;
    }
    long now = ticker.nanos();
    for (Worker worker : snapshot.workers()) {
      worker.stallState().check(settings.stall(), now);
    }
  }

  /**
   * Lets workers get requests although their probes fail, while no worker of a pool answers its
   * probes; to be called about once per second. Ends that when a worker answers again.
   */
  public void checkProbes() {
    FleetSnapshot now = snapshot;
    Set<Worker> silent = new HashSet<>();
    for (Role role : Role.values()) {
      List<Pool> pools = new ArrayList<>(now.models(role).values());
      pools.add(now.pool(role));
      for (Pool pool : pools) {
        if (SilentPools.ignoreProbes(pool.workers())) {
          silent.addAll(pool.workers());
        }
      }
    }
    for (Worker worker : now.workers()) {
      if (worker.probes().ignored() && !silent.contains(worker)) {
        worker.probes().heed();
      }
    }
  }

  /** Limit of the workers that breakers exclude at once. */
  public EjectionLimit ejections() {
    return ejections;
  }

  private void releaseSlots() {
    leaving.removeIf(
        worker -> {
          boolean released = worker.releaseSlot();
          if (released) {
            slotsInUse.clear(worker.slot());
          }
          return released;
        });
  }

  private int freeSlot() {
    releaseSlots();
    int slot = slotsInUse.nextClearBit(0);
    if (slot >= settings.maxWorkers()) {
      throw new IllegalStateException(
          "workers: " + workers.size() + " (expected: at most " + settings.maxWorkers() + ")");
    }
    return slot;
  }

  private void publish() {
    snapshot = new FleetSnapshot(snapshot.version() + 1, workers, served, snapshot, board);
    // Runs after publication. Otherwise a worker would show models for which no snapshot has a
    // pool.
    served.forEach(Worker::shown);
    RuntimeException failure = null;
    for (FleetListener listener : listeners) {
      try {
        listener.changed(snapshot);
      } catch (RuntimeException e) {
        // The others must see the change, or they would use workers that have left.
        failure = failure == null ? e : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
