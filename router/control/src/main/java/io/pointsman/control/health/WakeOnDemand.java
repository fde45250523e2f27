package io.pointsman.control.health;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wakes one sleeping engine of a model that a request waits for, if no other worker of the model is
 * awake. An engine that did not wake gets the next call after a pause. Any thread.
 */
public final class WakeOnDemand {
  private static final Logger log = LoggerFactory.getLogger(WakeOnDemand.class);
  private static final long PAUSE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final String PATH = "/wake_up";

  private final Fleet fleet;
  private final EngineCall engines;
  private final SleepStates states;
  private final Supplier<Duration> timeout;
  private final Ticker ticker;
  private final Executor threads;
  private final Set<Worker> waking = ConcurrentHashMap.newKeySet();

  /** Time until which a worker that did not wake gets no call. */
  private final Map<Worker, Long> pausedUntil = new ConcurrentHashMap<>();

  /**
   * @param timeout maximum duration of a call; engines load their weights in it. It may change
   * @param threads runs the calls, which block
   */
  public WakeOnDemand(
      Fleet fleet,
      EngineCall engines,
      SleepStates states,
      Supplier<Duration> timeout,
      Ticker ticker,
      Executor threads) {
    this.fleet = fleet;
    this.engines = engines;
    this.states = states;
    this.timeout = timeout;
    this.ticker = ticker;
    this.threads = threads;
  }

  /**
   * Records that a request waits for a worker. Does not block.
   *
   * @param model null if the request names none
   */
  public void wanted(@Nullable String model) {
    FleetSnapshot now = fleet.snapshot();
    pausedUntil.keySet().removeIf(Worker::left);
    for (Role role : Role.values()) {
      Pool pool = model == null ? now.pool(role) : now.pool(role, model);
      Worker asleep = pool == null ? null : candidate(pool);
      if (asleep != null && waking.add(asleep)) {
        threads.execute(() -> wake(asleep));
      }
    }
  }

  /** A sleeping worker to wake; null if another one is awake, or being woken. */
  private @Nullable Worker candidate(Pool pool) {
    Worker found = null;
    for (Worker worker : pool.workers()) {
      boolean well = worker.health().healthy() && !worker.draining();
      if ((well && !worker.asleep()) || waking.contains(worker)) {
        return null;
      }
      if (found == null && well && !paused(worker)) {
        found = worker;
      }
    }
    return found;
  }

  private boolean paused(Worker worker) {
    Long until = pausedUntil.get(worker);
    return until != null && ticker.nanos() - until < 0;
  }

  private void wake(Worker worker) {
    String problem = "it still sleeps or is paused";
    states.callBegins();
    try {
      log.info("worker {} is woken, because requests wait for it", worker);
      EngineClient.Answer answer =
          engines.send(worker.spec(), "POST", worker.spec().base() + PATH, timeout.get());
      if (!answer.good()) {
        problem = "POST " + PATH + ": " + answer.status();
      } else if (states.ask(worker) != SleepStates.State.ASLEEP) {
        worker.sleep(false);
        problem = "";
      }
    } catch (IOException | IllegalArgumentException e) {
      problem = "POST " + PATH + ": " + LogText.of(e.toString());
    } finally {
      states.callEnded();
      if (!problem.isEmpty()) {
        pausedUntil.put(worker, ticker.nanos() + PAUSE_NANOS);
        log.warn("worker {} did not wake: {}", worker, problem);
      }
      waking.remove(worker);
    }
  }
}
