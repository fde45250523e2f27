package io.pointsman.control.health;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Worker;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks for stalls and unanswered probes about once a second, and logs changes of health,
 * breakers, stalls and membership. Owned by the thread that calls {@link #look}.
 */
public final class FleetJournal {
  private static final Logger log = LoggerFactory.getLogger(FleetJournal.class);

  /** Maximum number of reasons that are logged in one outage of a worker. */
  private static final int MOST_REASONS = 8;

  private final Fleet fleet;
  private Map<Worker, State> seen = new HashMap<>();

  /** Reasons that are logged, by unhealthy worker. */
  private final Map<Worker, Set<String>> reasons = new HashMap<>();

  private long keptInService;

  public FleetJournal(Fleet fleet) {
    this.fleet = fleet;
  }

  private record State(
      HealthState.Status health,
      CircuitBreaker.State breaker,
      boolean stalled,
      boolean asleep,
      boolean ignoresProbes,
      boolean closing) {
    static final State NEW =
        new State(
            HealthState.Status.UNKNOWN, CircuitBreaker.State.CLOSED, false, false, false, false);

    static State of(Worker worker) {
      return new State(
          worker.health().status(),
          worker.breaker().state(),
          worker.stalled(),
          worker.asleep(),
          worker.probes().ignored(),
          worker.closing());
    }
  }

  /** Checks for stalls and logs changes since the last call. */
  public void look() {
    fleet.checkStalls();
    fleet.checkProbes();
    List<Worker> workers = fleet.snapshot().workers();
    Map<Worker, State> present = HashMap.newHashMap(workers.size());
    for (Worker worker : workers) {
      State now = State.of(worker);
      State before = seen.getOrDefault(worker, State.NEW);
      report(worker, before, now);
      reason(worker, before.health, now.health);
      present.put(worker, now);
    }
    for (Worker worker : seen.keySet()) {
      if (!present.containsKey(worker)) {
        log.info("worker {} was removed", worker);
        reasons.remove(worker);
      }
    }
    seen = present;
    long kept = fleet.ejections().refused();
    if (kept != keptInService) {
      log.warn(
          "failing workers stay in service, {} times since the last check:"
              + " breaker.max-ejected-share is reached, or no other worker is in service",
          kept - keptInService);
      keptInService = kept;
    }
  }

  /** Logs why a worker is unhealthy, each reason once in an outage. */
  private void reason(Worker worker, HealthState.Status before, HealthState.Status now) {
    if (now != HealthState.Status.UNHEALTHY) {
      reasons.remove(worker);
      return;
    }
    String reason = worker.health().reason();
    Set<String> logged = reasons.computeIfAbsent(worker, _ -> new HashSet<>());
    if (reason.isEmpty() || logged.size() >= MOST_REASONS || !logged.add(reason)) {
      return;
    }
    if (before == now) {
      log.warn("worker {} is still unhealthy: {}", worker, reason);
    } else {
      log.warn("worker {} is unhealthy: {}", worker, reason);
    }
  }

  private static void report(Worker worker, State before, State now) {
    if (before.health != now.health) {
      switch (now.health) {
        case UNKNOWN -> {}
        case HEALTHY -> {
          if (worker.anyModel()) {
            log.info("worker {} is healthy, gets requests for every model", worker);
          } else {
            log.info("worker {} is healthy, serves {}", worker, LogText.ofNames(worker.models()));
          }
        }
        case UNHEALTHY -> {} // with the reason
        case SUSPECT -> log.warn("worker {} refused a connection", worker);
      }
    }
    if (before.breaker != now.breaker) {
      switch (now.breaker) {
        case CLOSED -> log.info("breaker of {} is closed", worker);
        case OPEN -> log.warn("breaker of {} is open after repeated failures", worker);
        case HALF_OPEN -> log.info("breaker of {} allows a trial request", worker);
      }
    }
    if (before.asleep != now.asleep) {
      log.info("worker {} {}", worker, now.asleep ? "sleeps or is paused" : "is awake");
    }
    if (before.closing != now.closing) {
      if (now.closing) {
        log.warn("engine of {} shuts down, the worker gets no new requests", worker);
      } else {
        log.info("engine of {} accepts requests again", worker);
      }
    }
    if (before.stalled != now.stalled) {
      stall(worker, now.stalled);
    }
    if (before.ignoresProbes != now.ignoresProbes) {
      if (now.ignoresProbes) {
        log.warn("worker {} gets requests, because no worker like it answers probes", worker);
      } else {
        log.info("worker {} gets requests only if it answers probes", worker);
      }
    }
  }

  private static void stall(Worker worker, boolean stalled) {
    int departures = worker.stalledByDepartures();
    if (!stalled) {
      log.info("worker {} makes progress again", worker);
    } else if (departures > 0) {
      log.warn(
          "worker {} makes no progress: {} clients left without a byte, {} requests in flight",
          worker,
          departures,
          worker.inFlight());
    } else {
      log.warn("worker {} makes no progress, {} requests in flight", worker, worker.inFlight());
    }
  }
}
