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
  private final int slots;
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

  /** True after workers have left, until their replacements are in a snapshot. */
  private volatile boolean replacing;

  public Fleet(FleetSettings settings, Ticker ticker) {
    this.settings = settings;
    this.ticker = ticker;
    bornAt = ticker.nanos();
    slots = settings.slots();
    board = new LoadBoard(slots);
    snapshot = new FleetSnapshot(0, Map.of(), Map.of(), null, board);
    ejections = new EjectionLimit(settings.breaker().maxEjectedShare(), this::snapshot);
  }

  /**
   * Number of slots, for tables indexed by {@link Worker#slot}. It never changes, so these tables
   * never move, and their readers need no lock while {@code maxWorkers} changes.
   */
  public int slots() {
    return slots;
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
   * Replaces the settings, for present and future workers. If there are already more workers than
   * the new maximum, they stay.
   *
   * @throws IllegalArgumentException if the maximum exceeds the {@link #slots}
   */
  public synchronized void configure(FleetSettings next) {
    if (next.maxWorkers() > slots) {
      throw new IllegalArgumentException(
          "maxWorkers: " + next.maxWorkers() + " (expected: at most " + slots + ", the slots)");
    }
    boolean limits = next.maxPrefills() != settings.maxPrefills();
    settings = next;
    ejections.share(next.breaker().maxEjectedShare());
    workers.values().forEach(worker -> worker.configure(next));
    leaving.forEach(worker -> worker.configure(next));
    if (limits) {
      // Pools have copies of the limits, and requests that wait look again.
      publish();
    }
  }

  /**
   * Changes the maximum number of workers.
   *
   * @param most 1 to {@link #slots}
   * @throws IllegalStateException if there are more workers; nothing is changed then
   */
  public synchronized void limit(int most) {
    if (workers.size() > most) {
      throw new IllegalStateException(
          "max-workers: " + most + " (expected: at least " + workers.size() + ", the workers now)");
    }
    configure(settings.withMaxWorkers(most));
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
    Worker worker = new Worker(spec, slot, board, settings, ejections, ticker, bornAt);
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
   *     slot exceeds this fleet's slots.
   */
  public synchronized boolean addCopies(Collection<Worker> originals) {
    releaseSlots();
    boolean all = true;
    int before = workers.size();
    for (Worker original : originals) {
      boolean present = workers.containsKey(original.id());
      int slot = original.slot();
      if (!present && slot < slots && !slotsInUse.get(slot)) {
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

  /**
   * Removes a worker. It receives no further request; those in flight continue to their end.
   *
   * @return null if no worker has this id
   */
  public synchronized @Nullable Worker remove(String id) {
    Worker worker = workers.get(id);
    if (worker != null) {
      depart(worker);
      publish();
    }
    return worker;
  }

  private void depart(Worker worker) {
    workers.remove(worker.id());
    served.remove(worker);
    worker.leave();
    leaving.add(worker);
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
    return worker != null && worker.spec().equals(spec);
  }

  /**
   * Removes workers and adds others, or changes nothing. A worker that leaves keeps its slot while
   * it has requests in flight. A worker with the id of one that leaves keeps its cordon, and serves
   * at once if it is the same engine and that one served.
   *
   * @throws IllegalStateException if there are not enough slots for the new workers; nothing is
   *     changed then
   */
  public synchronized void replace(Collection<Worker> going, Collection<WorkerSpec> coming) {
    replace(going, coming, new ArrayList<>());
  }

  /**
   * Replaces workers as {@link #replace(Collection, Collection)}.
   *
   * @param gone gets the workers that leave, for {@link #restore}, also if a listener fails
   */
  public synchronized void replace(
      Collection<Worker> going, Collection<WorkerSpec> coming, Collection<FormerWorker> gone) {
    List<FormerWorker> former =
        going.stream()
            .filter(this::has)
            .map(worker -> FormerWorker.of(worker, snapshot.models(worker)))
            .toList();
    List<Worker> closed = going.stream().filter(worker -> !worker.draining()).toList();
    replacing = !going.isEmpty();
    try {
      // Their loads can only fall now, so a slot counted as free becomes free.
      closed.forEach(worker -> worker.drain(true));
      makeRoom(going, coming.size(), closed);
      gone.addAll(former);
      exchange(former.stream().map(FormerWorker::worker).toList(), () -> addAfter(former, coming));
    } finally {
      replacing = false;
    }
  }

  /**
   * Gives the free slots of leaving workers up.
   *
   * @param closed workers that drain because of the change
   * @throws IllegalStateException if there are not enough slots; nothing is changed then
   */
  private void makeRoom(Collection<Worker> going, int coming, List<Worker> closed) {
    releaseSlots();
    long idle = going.stream().filter(worker -> has(worker) && worker.inFlight() == 0).count();
    long needed = slotsInUse.cardinality() - idle + coming;
    if (needed > settings.maxWorkers()) {
      closed.forEach(worker -> worker.drain(false));
      throw new IllegalStateException(
          "workers: "
              + needed
              + ", including leaving ones with requests in flight (expected: at most "
              + settings.maxWorkers()
              + ")");
    }
  }

  /**
   * Undoes a {@link #replace}. A worker with requests in flight is the same object as before. If a
   * worker has given its slot up, a new one with its state takes its place.
   *
   * @param added workers that leave; they may have left already
   * @param former workers that come back, unless another one has their id
   * @throws IllegalStateException if there are not enough slots for all; the others have come back
   */
  public synchronized void restore(Collection<Worker> added, Collection<FormerWorker> former) {
    exchange(added.stream().filter(this::has).toList(), () -> bringBack(former));
  }

  /**
   * Publishes the departure before the arrivals, because learners must forget a slot before its
   * next worker has it.
   */
  private void exchange(List<Worker> going, Runnable arrivals) {
    replacing = !going.isEmpty();
    try {
      RuntimeException failure = null;
      if (!going.isEmpty()) {
        going.forEach(this::depart);
        try {
          publish();
        } catch (RuntimeException e) {
          failure = e;
        }
      }
      arrivals.run();
      if (failure != null) {
        throw failure;
      }
    } finally {
      replacing = false;
    }
  }

  private void addAfter(List<FormerWorker> former, Collection<WorkerSpec> coming) {
    Map<String, FormerWorker> byId = new HashMap<>();
    former.forEach(each -> byId.put(each.worker().id(), each));
    int before = workers.size();
    try {
      for (WorkerSpec spec : coming) {
        if (!workers.containsKey(spec.id())) {
          Worker worker = register(spec, freeSlot());
          FormerWorker last = byId.get(spec.id());
          if (last != null) {
            inherit(worker, last);
          }
        }
      }
    } finally {
      if (workers.size() > before) {
        publish();
      }
    }
  }

  private void inherit(Worker worker, FormerWorker last) {
    served.put(worker, last.modelsOf(worker.spec()));
    last.passTo(worker);
  }

  private void bringBack(Collection<FormerWorker> former) {
    int before = workers.size();
    try {
      List<FormerWorker> others = new ArrayList<>();
      for (FormerWorker each : former) {
        Worker worker = each.worker();
        if (workers.containsKey(worker.id())) {
          continue;
        }
        if (leaving.contains(worker) && worker.rejoin()) {
          leaving.remove(worker);
          worker.drain(each.drained());
          workers.put(worker.id(), worker);
          served.put(worker, each.models());
        } else {
          others.add(each);
        }
      }
      for (FormerWorker each : others) {
        inherit(register(each.worker().spec(), freeSlot()), each);
      }
    } finally {
      if (workers.size() > before) {
        publish();
      }
    }
  }

  /**
   * Waits while workers are being replaced, for a caller that has found none.
   *
   * @return false if it has not waited
   */
  public boolean awaitReplacement() {
    if (!replacing) {
      return false;
    }
    synchronized (this) {
      return true;
    }
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
    // The highest slot may exceed the maximum, which may have been lowered.
    if (slotsInUse.cardinality() >= settings.maxWorkers()) {
      throw new IllegalStateException(
          "workers: " + workers.size() + " (expected: at most " + settings.maxWorkers() + ")");
    }
    return slotsInUse.nextClearBit(0);
  }

  private void publish() {
    snapshot = new FleetSnapshot(snapshot.version() + 1, workers, served, snapshot, board);
    // Runs after publication. Otherwise a worker would show models for which no snapshot has a
    // pool.
    served.forEach(Worker::shown);
    RuntimeException failure = null;
    for (FleetListener listener : listeners) {
      // The others must see the change, or they would use workers that have left.
      try {
        listener.changed(snapshot);
      } catch (RuntimeException e) {
        failure = failure == null ? e : failure;
      } catch (LinkageError e) {
        failure = failure == null ? new IllegalStateException("listener: " + e, e) : failure;
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
