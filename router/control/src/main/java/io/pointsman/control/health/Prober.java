package io.pointsman.control.health;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.control.health.ProbeRequests.Verdict;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.ServedModels;
import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
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

  private final Fleet fleet;
  private volatile ProbeSettings settings;
  private final EngineClient client;
  private final Ticker ticker;
  private final SleepStates sleeping;
  private final ProbeSlots slots;

  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();

  /** Guarded by {@link #lock}. */
  private final ProbeSchedule schedule;

  /** Receives each response with a worker's models. */
  private volatile BiConsumer<Worker, byte[]> onModels = (_, _) -> {};

  private final ProbeRequests requests;
  private final ModelBatches models;

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
    requests = new ProbeRequests(client, ticker, () -> this.settings);
    models = new ModelBatches(fleet);
    sleeping = new SleepStates(client, () -> this.settings.timeout());
    slots = new ProbeSlots(settings.parallelism());
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
  private static final class ProbeSlots extends Semaphore {
    private static final long serialVersionUID = 1;

    ProbeSlots(int number) {
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
      slots.change(next.parallelism() - settings.parallelism());
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

  /**
   * Reads a worker's models soon, because it refused a request for one of them. Never blocks for
   * long; callable on event loops.
   */
  public void modelMissing(Worker worker, String model) {
    boolean warns;
    lock.lock();
    try {
      if (schedule.modelMissing(worker, ticker.nanos())) {
        changed.signal();
      }
      warns = schedule.warnsOfMissing(worker);
    } finally {
      lock.unlock();
    }
    if (warns) {
      log.warn(
          worker.spec().models().isEmpty()
              ? "{} answers that it does not serve {}, which it listed; its models are read again"
              : "{} answers that it does not serve {}, which the configuration lists for it",
          worker,
          LogText.of(model));
    }
  }

  private void run() {
    try {
      while (running) {
        Worker worker = awaitDue();
        if (worker != null) {
          slots.acquire();
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
      Verdict verdict = requests.ask(worker);
      Set<String> configured = worker.spec().models();
      List<HealthRequest> ofModels =
          verdict == Verdict.GOOD ? HealthRequest.of(worker.spec()) : List.of();
      if (!ofModels.isEmpty()) {
        configured = requests.served(worker, ofModels);
        verdict = configured.isEmpty() ? Verdict.BAD : Verdict.GOOD;
      }
      boolean modelsKnown = verdict != Verdict.GOOD || !modelsDue(worker) || learnModels(worker);
      if (verdict == Verdict.GOOD) {
        askIfAsleep(worker);
        boolean anew = !worker.health().healthy() && !configured.isEmpty();
        if (anew || !ofModels.isEmpty()) {
          // A restarted engine has lost the adapters that were loaded.
          models.learn(worker, ServedModels.reported(configured));
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
      slots.release();
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
        models.learn(worker, ServedModels.reported(names, adapters));
      }
    } catch (IOException | IllegalArgumentException e) {
      log.debug("cannot read the models of {}: {}", worker, LogText.of(e));
    }
  }

  private boolean learnModels(Worker worker) {
    try {
      String url = worker.spec().base() + "/v1/models";
      EngineClient.Answer answer = client.send(worker.spec(), "GET", url, settings.timeout());
      if (answer.status() >= 500) {
        return modelsFailed(worker, "GET /v1/models: " + answer.status());
      }
      ServedModels listed =
          answer.good() ? ModelList.read(answer.body()) : ServedModels.reported(Set.of());
      if (listed.any() && settings.alsoGood().contains(answer.status())) {
        log.debug("{} does not list its models: {}", worker, answer.status());
      } else if (listed.any()) {
        log.warn(
            "{} does not list its models (GET /v1/models: {}){}",
            worker,
            answer.status(),
            consequence(worker));
      } else {
        onModels.accept(worker, answer.body());
        models.learn(worker, listed);
      }
      if (listed.any()) {
        unreported(worker);
      }
      modelsSeen(worker);
      return true;
    } catch (IOException | IllegalArgumentException e) {
      return modelsFailed(worker, "GET /v1/models: " + reason(e));
    }
  }

  /**
   * Schedules another attempt with the next probe. After several failures the worker counts as not
   * reporting its models, which is logged once until its models are read or a probe fails.
   */
  private boolean modelsFailed(Worker worker, String why) {
    log.debug("cannot read the models of {}: {}", worker, why);
    boolean often;
    boolean first;
    lock.lock();
    try {
      often = schedule.modelsFailed(worker);
      first = often && schedule.warnsOfModels(worker);
    } finally {
      lock.unlock();
    }
    if (first) {
      log.warn("the models of {} cannot be read ({}){}", worker, why, consequence(worker));
    }
    if (often) {
      unreported(worker);
    }
    return false;
  }

  /** The reason without the class of the exception, which readers of the log do not know. */
  private static String reason(Exception e) {
    if (e instanceof JsonProcessingException wrong) {
      return "not JSON: " + LogText.of(wrong.getOriginalMessage());
    }
    String message = e.getMessage();
    return message == null || message.isBlank() ? LogText.of(e) : LogText.of(message);
  }

  /** The end of a line about models that are not known. */
  private static String consequence(Worker worker) {
    return worker.models().isEmpty()
        ? "; it gets requests for every model"
        : "; it keeps the models that it reported before";
  }

  /** Keeps models reported earlier; a worker that never reported any may serve every model. */
  private void unreported(Worker worker) {
    if (worker.models().isEmpty()) {
      models.learn(worker, ServedModels.reported(Set.of()));
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
