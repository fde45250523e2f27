package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import java.util.List;

/** Says why no worker was chosen, and when to try again. */
final class Refusals {
  /** No full worker makes anybody wait longer: what it has served lately says less by then. */
  static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

  private Refusals() {}

  /**
   * No worker is known to serve the request's model.
   *
   * @param missed whether workers did that have left
   */
  static Decision.Rejected noPool(FleetSnapshot snapshot, RoutingRequest request, boolean missed) {
    RejectReason reason = ofModel(snapshot, request.role());
    boolean mayComeBack = missed && reason == RejectReason.UNKNOWN_MODEL;
    return new Decision.Rejected(mayComeBack ? RejectReason.NONE_AVAILABLE : reason, 0);
  }

  /**
   * The model is unknown if nobody's models are pending and at least one worker that is up has told
   * its own, or all have. A worker that is down says nothing for or against.
   */
  private static RejectReason ofModel(FleetSnapshot snapshot, Role role) {
    List<Worker> workers = snapshot.pool(role).workers();
    boolean allTold = true;
    boolean oneUpTold = false;
    for (Worker worker : workers) {
      boolean told = snapshot.models(worker).known();
      if (!told && mayTell(worker)) {
        return RejectReason.MODELS_PENDING;
      }
      allTold &= told;
      oneUpTold |= told && worker.health().healthy();
    }
    if (workers.isEmpty()) {
      return RejectReason.NO_WORKERS;
    }
    return allTold || oneUpTold ? RejectReason.UNKNOWN_MODEL : RejectReason.NONE_AVAILABLE;
  }

  /**
   * Whether a worker that has not told its models may still turn out to serve any: it has not been
   * probed yet, or it is well and has not been heard on them. One that is down may not.
   */
  private static boolean mayTell(Worker worker) {
    HealthState.Status status = worker.health().status();
    return status == HealthState.Status.UNKNOWN || status == HealthState.Status.HEALTHY;
  }

  /** None of the candidates may be chosen. */
  static Decision.Rejected none(List<Worker> candidates, RoutingRequest request, long now) {
    return new Decision.Rejected(
        reason(candidates, request, now), untilFree(candidates, now), busyStatus(candidates, now));
  }

  /** 0 if one of those that are busy is so by a limit. */
  private static int busyStatus(List<Worker> candidates, long now) {
    int status = 0;
    long shortest = Long.MAX_VALUE;
    for (Worker worker : candidates) {
      if (!worker.merelyBusy(now)) {
        continue;
      }
      long rest = worker.restLeft(now);
      if (rest <= 0) {
        return 0;
      }
      if (rest < shortest) {
        shortest = rest;
        status = worker.restStatus();
      }
    }
    return status;
  }

  /** What stands in the way of those that would come nearest to serving the request. */
  private static RejectReason reason(List<Worker> candidates, RoutingRequest request, long now) {
    boolean someFailed = false;
    boolean someBusy = false;
    for (Worker worker : candidates) {
      boolean busy = worker.merelyBusy(now);
      boolean tried = request.tried().contains(worker);
      if (!tried && (busy || worker.eligible(now))) {
        return RejectReason.ALL_BUSY;
      }
      someFailed |= tried && !busy && worker.eligible(now);
      someBusy |= busy;
    }
    if (someFailed) {
      return RejectReason.ALL_TRIED;
    }
    if (someBusy) {
      return RejectReason.ALL_BUSY;
    }
    return candidates.isEmpty() ? RejectReason.NO_WORKERS : RejectReason.NONE_AVAILABLE;
  }

  /**
   * Nanoseconds until a place is expected: the first of those that rest comes back, or one of those
   * that are full has served a request, at the pace that they have together; 0 if neither is known.
   */
  private static long untilFree(List<Worker> candidates, long now) {
    long shortest = Long.MAX_VALUE;
    double endsPerNano = 0;
    for (Worker worker : candidates) {
      if (!worker.merelyBusy(now)) {
        continue;
      }
      long rest = worker.restLeft(now);
      long between = worker.nanosBetweenEnds();
      if (rest > 0) {
        shortest = Math.min(shortest, rest);
      } else if (between > 0) {
        endsPerNano += 1.0 / (double) between;
      }
    }
    if (endsPerNano > 0) {
      long next = Math.round(Math.min(1 / endsPerNano, (double) LONGEST_WAIT.toNanos()));
      shortest = Math.min(shortest, next);
    }
    return shortest == Long.MAX_VALUE ? 0 : shortest;
  }
}
