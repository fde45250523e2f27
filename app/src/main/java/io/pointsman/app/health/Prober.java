package io.pointsman.app.health;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.upstream.Shortage;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Probes every worker of a fleet, many at once, each probe on a virtual thread of its own; learns
 * from workers that are well which models they serve. A worker's first good probe is reported only
 * after its models are known, so that it takes its first request in the right pool.
 */
public final class Prober implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Prober.class);

  private static final long LONGEST_WAIT = TimeUnit.MINUTES.toNanos(1);

  /** Several times what a change of the fleet costs for each of its workers. */
  private static final long GATHERING_NANOS_PER_WORKER = 10_000;

  /** What a probe says of its worker. */
  private enum Verdict {
    GOOD,
    BAD,
    /** It did not answer in time, nor has it begun to answer requests since. */
    SILENT,
    /** It did not answer in time, but has begun to answer requests since it was asked. */
    BUSY,
    /** Nothing: the router had no file descriptor or port to ask with. */
    NONE
  }

  private final Fleet fleet;
  private final ProbeSettings settings;
  private final EngineClient client;
  private final Ticker ticker;
  private final Semaphore places;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Guarded by {@link #lock}. */
  private final ProbeSchedule schedule;

  /** Hears of each answer that lists a worker's models. */
  private volatile BiConsumer<Worker, byte[]> onModels = (_, _) -> {};

  /** Models that the fleet has not taken note of yet; guarded by itself. */
  private final Map<Worker, ServedModels> learned = new HashMap<>();

  private final ReentrantLock learning = new ReentrantLock();

  private volatile boolean running = true;
  private final Thread loop;

  /** Probes the workers of {@code fleet}, those of now and those to come, until closed. */
  public Prober(
      Fleet fleet, ProbeSettings settings, EngineClient client, Ticker ticker, Dice dice) {
    this.fleet = fleet;
    this.settings = settings;
    this.client = client;
    this.ticker = ticker;
    places = new Semaphore(settings.parallelism());
    schedule = new ProbeSchedule(settings, dice);
    loop = Thread.ofVirtual().name("prober").unstarted(this::run);
  }

  /**
   * Calls {@code listener} with each worker's answer to {@code GET /v1/models}, on the thread that
   * probes.
   */
  public Prober onModels(BiConsumer<Worker, byte[]> listener) {
    onModels = listener;
    return this;
  }

  /** Begins to probe. */
  public Prober start() {
    fleet.listen(this::follow);
    loop.start();
    return this;
  }

  private void follow(FleetSnapshot snapshot) {
    lock.lock();
    try {
      schedule.follow(snapshot.workers(), ticker.nanos());
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /**
   * Probes a worker at once, because requests fail on it; one that is known to be out is probed
   * soon enough. Cheap, and never blocks for long: may be called on event loops.
   */
  public void suspect(Worker worker) {
    if (worker.health().status() != HealthState.Status.UNHEALTHY) {
      lock.lock();
      try {
        schedule.hurry(worker, ticker.nanos());
        changed.signal();
      } finally {
        lock.unlock();
      }
    }
  }

  private void run() {
    try {
      while (running) {
        Worker worker = awaitDue();
        if (worker != null) {
          places.acquire();
          Thread.startVirtualThread(() -> probe(worker));
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private @Nullable Worker awaitDue() throws InterruptedException {
    lock.lock();
    try {
      Worker due = schedule.takeDue(ticker.nanos());
      while (running && due == null) {
        changed.awaitNanos(Math.min(schedule.untilDue(ticker.nanos()), LONGEST_WAIT));
        due = schedule.takeDue(ticker.nanos());
      }
      return due;
    } finally {
      lock.unlock();
    }
  }

  private void probe(Worker worker) {
    boolean good = false;
    boolean settled = false;
    try {
      Verdict verdict = ask(worker);
      boolean modelsKnown = verdict != Verdict.GOOD || !modelsDue(worker) || learnModels(worker);
      switch (verdict) {
        case GOOD -> worker.probed(true);
        case BAD -> worker.probed(false);
        case SILENT -> worker.silent();
        case BUSY -> worker.alive();
        case NONE -> {}
      }
      boolean failed = verdict == Verdict.BAD || verdict == Verdict.SILENT;
      good = verdict == Verdict.GOOD || (!failed && worker.health().healthy());
      settled = good && modelsKnown && worker.health().healthy();
    } finally {
      places.release();
      finished(worker, good, settled);
    }
  }

  private Verdict ask(Worker worker) {
    long begun = ticker.nanos();
    try {
      String url = worker.spec().url() + settings.endpoint();
      Role role = worker.spec().role();
      boolean good = settings.good(client.send(role, "GET", url, settings.timeout()).status());
      return good ? Verdict.GOOD : Verdict.BAD;
    } catch (IOException | IllegalArgumentException e) {
      if (e instanceof SocketTimeoutException) {
        log.debug("probe of {} timed out: {}", worker, e.toString());
        return worker.begunSince(begun) ? Verdict.BUSY : Verdict.SILENT;
      }
      log.debug("probe of {} failed: {}", worker, e.toString());
      return routersOwn(worker, e) ? Verdict.NONE : Verdict.BAD;
    }
  }

  /** A worker that was never well may have an address to which no port would lead. */
  private static boolean routersOwn(Worker worker, Exception failure) {
    Shortage shortage = Shortage.of(failure);
    return shortage == Shortage.DESCRIPTORS
        || (shortage == Shortage.PORTS && worker.health().healthy());
  }

  private boolean learnModels(Worker worker) {
    try {
      String url = worker.spec().url() + "/v1/models";
      EngineClient.Answer answer =
          client.send(worker.spec().role(), "GET", url, settings.timeout());
      if (answer.status() >= 500) {
        return modelsFailed(worker, "GET /v1/models: " + answer.status());
      }
      ServedModels models =
          answer.good() ? ModelList.read(answer.body()) : ServedModels.told(Set.of());
      if (models.any() && settings.alsoGood().contains(answer.status())) {
        log.debug("{} does not list its models: {}", worker, answer.status());
      } else if (models.any()) {
        log.warn("{} does not list its models (GET /v1/models: {})", worker, answer.status());
      } else {
        onModels.accept(worker, answer.body());
        learn(worker, models);
      }
      if (models.any()) {
        notTold(worker);
      }
      modelsSeen(worker);
      return true;
    } catch (IOException | IllegalArgumentException e) {
      return modelsFailed(worker, e.toString());
    }
  }

  /** It is asked again with its next probe; after a few failures it counts as not telling. */
  private boolean modelsFailed(Worker worker, String why) {
    log.debug("cannot read the models of {}: {}", worker, why);
    boolean often;
    lock.lock();
    try {
      often = schedule.modelsFailed(worker);
    } finally {
      lock.unlock();
    }
    if (often) {
      notTold(worker);
    }
    return false;
  }

  /** What it has told before stands; one that has never told serves any model. */
  private void notTold(Worker worker) {
    if (worker.models().isEmpty()) {
      learn(worker, ServedModels.told(Set.of()));
    }
  }

  /**
   * Has the fleet take note, together with whatever other probes learn in the meantime: each change
   * costs as much as the fleet has workers, so a large one changes a few times at its start, not
   * once per worker. What is no news costs nothing.
   */
  private void learn(Worker worker, ServedModels models) {
    if (fleet.snapshot().models(worker).equals(models)) {
      return;
    }
    synchronized (learned) {
      learned.put(worker, models);
    }
    LockSupport.parkNanos(GATHERING_NANOS_PER_WORKER * fleet.snapshot().workers().size());
    learning.lock();
    try {
      Map<Worker, ServedModels> batch;
      synchronized (learned) {
        batch = Map.copyOf(learned);
        learned.clear();
      }
      if (!batch.isEmpty()) {
        fleet.learnModels(batch);
      }
    } finally {
      learning.unlock();
    }
  }

  private boolean modelsDue(Worker worker) {
    lock.lock();
    try {
      return schedule.modelsDue(worker, ticker.nanos());
    } finally {
      lock.unlock();
    }
  }

  private void modelsSeen(Worker worker) {
    lock.lock();
    try {
      schedule.modelsSeen(worker, ticker.nanos());
    } finally {
      lock.unlock();
    }
  }

  private void finished(Worker worker, boolean good, boolean settled) {
    lock.lock();
    try {
      schedule.finished(worker, good, settled, ticker.nanos());
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /** Begins no further probe. */
  @Override
  public void close() {
    running = false;
    loop.interrupt();
  }
}
