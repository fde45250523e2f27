package io.pointsman.control.health;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.Shortage;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
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
 * Probes all workers of a fleet concurrently, each probe on its own virtual thread. Reads from
 * healthy workers which models they serve. A worker's first good probe is reported after its models
 * are known, so its first request comes through the right pool.
 */
public final class Prober implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Prober.class);

  private static final long LONGEST_WAIT = TimeUnit.MINUTES.toNanos(1);

  /** Several times the cost of a fleet change per worker. */
  private static final long GATHERING_NANOS_PER_WORKER = 10_000;

  /** Result of a probe. */
  private enum Verdict {
    GOOD,
    /** A response with another status. */
    BAD,
    /** A connection, but no response in time, and no part of any response since the probe began. */
    SILENT,
    /** No response in time, but parts of responses to requests since the probe began. */
    BUSY,
    /** No connection in time. */
    NOT_ACCEPTED,
    /** The connection was refused or broke. */
    BROKEN,
    /** No result: the router had no free file descriptor or port. */
    NONE
  }

  private final Fleet fleet;
  private volatile ProbeSettings settings;
  private final EngineClient client;
  private final Ticker ticker;
  private final SleepStates sleeping;
  private final Places places;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Guarded by {@link #lock}. */
  private final ProbeSchedule schedule;

  /** Receives each response with a worker's models. */
  private volatile BiConsumer<Worker, byte[]> onModels = (_, _) -> {};

  /** Models that are not yet in the fleet; guarded by itself. */
  private final Map<Worker, ServedModels> learned = new HashMap<>();

  private final ReentrantLock learning = new ReentrantLock();

  private volatile boolean running = true;
  private final Thread loop;

  /** Probes the present and future workers of {@code fleet} after {@link #start}, until closed. */
  public Prober(
      Fleet fleet,
      ProbeSettings settings,
      EngineClient client,
      Ticker ticker,
      RandomSource random) {
    this.fleet = fleet;
    this.settings = settings;
    this.client = client;
    this.ticker = ticker;
    sleeping = new SleepStates(client, settings.timeout());
    places = new Places(settings.parallelism());
    schedule = new ProbeSchedule(settings, random);
    loop = Thread.ofVirtual().name("prober").unstarted(this::run);
  }

  /**
   * Calls {@code listener} with each worker's response to {@code GET /v1/models}, on the probing
   * thread.
   */
  public Prober onModels(BiConsumer<Worker, byte[]> listener) {
    onModels = listener;
    return this;
  }

  /** Slots for concurrent probes; their number can change. */
  private static final class Places extends Semaphore {
    private static final long serialVersionUID = 1;

    Places(int number) {
      super(number);
    }

    void change(int by) {
      if (by >= 0) {
        release(by);
      } else {
        reducePermits(-by);
      }
    }
  }

  /** Replaces the settings, and probes all workers soon if they differ. */
  public void configure(ProbeSettings next) {
    lock.lock();
    try {
      if (next.equals(settings)) {
        return;
      }
      places.change(next.parallelism() - settings.parallelism());
      settings = next;
      schedule.configure(next);
      long now = ticker.nanos();
      fleet.snapshot().workers().forEach(worker -> schedule.hurry(worker, now));
      changed.signal();
    } finally {
      lock.unlock();
    }
  }

  /** Starts probing. */
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
   * Probes a worker immediately, because requests to it fail. Does nothing for an unhealthy worker,
   * which is probed frequently anyway. Never blocks for long; callable on event loops.
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
      Set<String> configured = worker.spec().models();
      List<HealthRequest> requests =
          verdict == Verdict.GOOD ? HealthRequest.of(worker.spec()) : List.of();
      if (!requests.isEmpty()) {
        configured = served(worker, requests);
        verdict = configured.isEmpty() ? Verdict.BAD : Verdict.GOOD;
      }
      boolean modelsKnown = verdict != Verdict.GOOD || !modelsDue(worker) || learnModels(worker);
      if (verdict == Verdict.GOOD) {
        askIfAsleep(worker);
        boolean anew = !worker.health().healthy() && !configured.isEmpty();
        if (anew || !requests.isEmpty()) {
          // A restarted engine has lost the adapters that were loaded.
          learn(worker, ServedModels.reported(configured));
        }
      }
      switch (verdict) {
        case GOOD -> worker.probed(true);
        case BAD -> worker.probed(false);
        case SILENT -> worker.probes().silent();
        case BUSY -> worker.probes().alive();
        case NOT_ACCEPTED -> worker.probes().unreached(true);
        case BROKEN -> worker.probes().unreached(false);
        case NONE -> {}
      }
      boolean passed =
          switch (verdict) {
            case GOOD, BUSY, NONE -> true;
            case BAD, SILENT, NOT_ACCEPTED, BROKEN -> false;
          };
      good = verdict == Verdict.GOOD || (passed && worker.health().healthy());
      settled = good && modelsKnown && worker.health().healthy();
    } finally {
      places.release();
      finished(worker, good, settled);
    }
  }

  /** The states of engines that sleep or are paused. */
  public SleepStates sleeping() {
    return sleeping;
  }

  private void askIfAsleep(Worker worker) {
    boolean due;
    lock.lock();
    try {
      due = schedule.sleepDue(worker);
    } finally {
      lock.unlock();
    }
    if (due && !sleeping.probe(worker, !worker.health().healthy())) {
      lock.lock();
      try {
        schedule.neverSleeps(worker);
      } finally {
        lock.unlock();
      }
    }
  }

  /**
   * Reads a worker's models immediately, because they have changed. A worker with configured models
   * keeps them, and gets the adapters that its engine lists. Blocks.
   */
  public void modelsChanged(Worker worker) {
    Set<String> configured = worker.spec().models();
    if (configured.isEmpty()) {
      learnModels(worker);
      return;
    }
    try {
      String url = worker.spec().base() + "/v1/models";
      EngineClient.Answer answer = client.send(worker.spec(), "GET", url, settings.timeout());
      if (answer.good()) {
        ServedModels listed = ModelList.read(answer.body());
        Set<String> names = new HashSet<>(listed.names());
        names.removeAll(listed.bases());
        Set<String> adapters = Set.copyOf(names);
        names.addAll(configured);
        learn(worker, ServedModels.reported(names, adapters));
      }
    } catch (IOException | IllegalArgumentException e) {
      log.debug("cannot read the models of {}: {}", worker, LogText.of(e));
    }
  }

  private Verdict ask(Worker worker) {
    long begun = ticker.nanos();
    try {
      String failure = probeFailure(worker);
      if (failure == null) {
        worker.failureSigns().answeredProbeOf(begun);
        return Verdict.GOOD;
      }
      worker.probes().failing(failure);
      return Verdict.BAD;
    } catch (IOException | IllegalArgumentException e) {
      worker.probes().failing(ProbeFailures.reason(e, worker.spec(), settings));
      if (e instanceof SocketTimeoutException) {
        log.debug("probe of {} timed out: {}", worker, LogText.of(e));
        return servedSince(worker, begun)
            ? Verdict.BUSY
            : e instanceof ConnectTimeout ? Verdict.NOT_ACCEPTED : Verdict.SILENT;
      }
      log.debug("probe of {} failed: {}", worker, LogText.of(e));
      if (e instanceof ConnectException) {
        worker.probes().refuses();
      }
      return routersOwn(worker, e) ? Verdict.NONE : Verdict.BROKEN;
    }
  }

  /**
   * Sends a probe. If the worker's URL ends in {@code /v1}, a server that does not know the path
   * below the base may know it below {@code /v1}.
   *
   * @return null if the response is good; otherwise the reason
   */
  private @Nullable String probeFailure(Worker worker) throws IOException {
    WorkerSpec spec = worker.spec();
    int status = status(spec, spec.base());
    if (settings.good(status)) {
      return null;
    }
    if (spec.base().equals(spec.url())) {
      return ProbeFailures.status(status, spec.base(), settings);
    }
    int below = status(spec, spec.url());
    return settings.good(below)
        ? null
        : ProbeFailures.statuses(status, spec.base(), below, spec.url(), settings);
  }

  private int status(WorkerSpec spec, String base) throws IOException {
    String url = base + settings.endpoint();
    return client.send(spec, "GET", url, settings.timeout()).status();
  }

  /**
   * True if the worker sent a part of a response since {@code begun}. After a refused connection
   * only a response that began since then counts; others say nothing about new connections.
   */
  private static boolean servedSince(Worker worker, long begun) {
    return worker.health().status() == HealthState.Status.SUSPECT
        ? worker.begunSince(begun)
        : worker.sentSince(begun);
  }

  /**
   * True if the router caused the failure. A shortage of ports counts only for a healthy worker;
   * another one may have an address that cannot be connected to.
   */
  private static boolean routersOwn(Worker worker, Exception failure) {
    Shortage shortage = Shortage.of(failure);
    return shortage == Shortage.DESCRIPTORS
        || (shortage == Shortage.PORTS && worker.health().healthy());
  }

  /** The configured models of a worker without those that fail a real request. */
  private Set<String> served(Worker worker, List<HealthRequest> requests) {
    Set<String> models = new HashSet<>(worker.spec().models());
    for (HealthRequest each : requests) {
      if (models.contains(each.model()) && !served(worker, each)) {
        models.remove(each.model());
      }
    }
    return models;
  }

  private boolean served(Worker worker, HealthRequest request) {
    long begun = ticker.nanos();
    try {
      EngineClient.Answer answer =
          client.forward(
              worker.spec(),
              "POST",
              worker.spec().base() + request.path(),
              Map.of("content-type", request.contentType()),
              request.body(),
              settings.timeout());
      boolean good = request.served(answer);
      if (!good) {
        log.debug(
            "{} fails {} of {}: {}",
            worker,
            request.kind(),
            LogText.of(request.model()),
            answer.status());
      }
      return good;
    } catch (IOException | IllegalArgumentException e) {
      log.debug(
          "{} fails {} of {}: {}",
          worker,
          request.kind(),
          LogText.of(request.model()),
          LogText.of(e));
      return (e instanceof SocketTimeoutException && servedSince(worker, begun))
          || routersOwn(worker, e);
    }
  }

  private boolean learnModels(Worker worker) {
    try {
      String url = worker.spec().base() + "/v1/models";
      EngineClient.Answer answer = client.send(worker.spec(), "GET", url, settings.timeout());
      if (answer.status() >= 500) {
        return modelsFailed(worker, "GET /v1/models: " + answer.status());
      }
      ServedModels models =
          answer.good() ? ModelList.read(answer.body()) : ServedModels.reported(Set.of());
      if (models.any() && settings.alsoGood().contains(answer.status())) {
        log.debug("{} does not list its models: {}", worker, answer.status());
      } else if (models.any()) {
        log.warn("{} does not list its models (GET /v1/models: {})", worker, answer.status());
      } else {
        onModels.accept(worker, answer.body());
        learn(worker, models);
      }
      if (models.any()) {
        unreported(worker);
      }
      modelsSeen(worker);
      return true;
    } catch (IOException | IllegalArgumentException e) {
      return modelsFailed(worker, e.toString());
    }
  }

  /**
   * Schedules another attempt with the next probe. After several failures the worker counts as not
   * reporting its models.
   */
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
      unreported(worker);
    }
    return false;
  }

  /** Keeps models reported earlier; a worker that never reported any may serve every model. */
  private void unreported(Worker worker) {
    if (worker.models().isEmpty()) {
      learn(worker, ServedModels.reported(Set.of()));
    }
  }

  /**
   * Adds models to the fleet, in a batch with those of other probes. Each fleet change costs time
   * in proportion to the number of workers, so a large fleet must not change once per worker.
   * Unchanged models cost nothing.
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

  /** Starts no further probes. */
  @Override
  public void close() {
    running = false;
    loop.interrupt();
  }
}
