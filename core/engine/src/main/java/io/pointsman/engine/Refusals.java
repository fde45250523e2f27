package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Determines why no worker was chosen and when a retry may succeed. */
final class Refusals {
  /**
   * Upper bound of the estimated wait for a full worker. The recent service rate is a poor forecast
   * beyond it.
   */
  static final Duration LONGEST_WAIT = Duration.ofSeconds(60);

  private Refusals() {}

  /**
   * Rejects a request because no worker is known to serve its model.
   *
   * @param missed true if workers that serve the model may come
   */
  static Decision.Rejected noPool(FleetSnapshot snapshot, RoutingRequest request, boolean missed) {
    RejectReason reason = ofModel(snapshot, request.role());
    boolean mayComeBack = missed && reason == RejectReason.UNKNOWN_MODEL;
    return new Decision.Rejected(mayComeBack ? RejectReason.NONE_AVAILABLE : reason, 0);
  }

  /**
   * Determines the reason by this order:
   *
   * <ol>
   *   <li>A worker may still report its models: {@link RejectReason#MODELS_PENDING}.
   *   <li>There are no workers: {@link RejectReason#NO_WORKERS}.
   *   <li>All workers, or at least one healthy worker, have reported theirs: {@link
   *       RejectReason#UNKNOWN_MODEL}.
   *   <li>Otherwise {@link RejectReason#NONE_AVAILABLE}.
   * </ol>
   *
   * An unhealthy worker that reported no models is no evidence.
   */
  private static RejectReason ofModel(FleetSnapshot snapshot, Role role) {
    List<Worker> workers = snapshot.pool(role).workers();
    boolean allReported = true;
    boolean healthyReported = false;
    for (Worker worker : workers) {
      boolean reported = snapshot.models(worker).known();
      if (!reported && mayReport(worker)) {
        return RejectReason.MODELS_PENDING;
      }
      allReported &= reported;
      healthyReported |= reported && worker.health().healthy();
    }
    if (workers.isEmpty()) {
      return RejectReason.NO_WORKERS;
    }
    return allReported || healthyReported
        ? RejectReason.UNKNOWN_MODEL
        : RejectReason.NONE_AVAILABLE;
  }

  /**
   * Returns true if a worker that has not reported its models may still report them. This holds
   * before the first probe and while the worker is healthy.
   */
  private static boolean mayReport(Worker worker) {
    HealthState.Status status = worker.health().status();
    return status == HealthState.Status.UNKNOWN || status == HealthState.Status.HEALTHY;
  }

  /**
   * Rejects a request because no candidate admits it. Returns null if a candidate admits it: its
   * state may have changed since a pick.
   */
  static Decision.@Nullable Rejected none(
      List<Worker> candidates, RoutingRequest request, long now) {
    RejectReason reason = reason(candidates, request, now);
    return reason == null ? null : of(reason, candidates, now);
  }

  /**
   * Rejects a request after its last pick. If a candidate admits it by now, others have taken each
   * place before it: {@link RejectReason#ALL_BUSY}.
   */
  static Decision.Rejected last(List<Worker> candidates, RoutingRequest request, long now) {
    RejectReason reason = reason(candidates, request, now);
    return of(reason == null ? RejectReason.ALL_BUSY : reason, candidates, now);
  }

  private static Decision.Rejected of(RejectReason reason, List<Worker> candidates, long now) {
    return new Decision.Rejected(reason, untilFree(candidates, now), busyStatus(candidates, now));
  }

  /**
   * Returns the busy status of the candidate with the shortest rest; 0 if a busy candidate is at
   * its limit.
   */
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

  /**
   * Returns the condition that excludes the candidates nearest to serving the request; null if a
   * candidate admits it.
   */
  private static @Nullable RejectReason reason(
      List<Worker> candidates, RoutingRequest request, long now) {
    boolean someFailed = false;
    boolean someBusy = false;
    boolean untriedBusy = false;
    for (Worker worker : candidates) {
      boolean busy = worker.merelyBusy(now);
      boolean eligible = worker.eligible(now);
      boolean tried = request.tried().contains(worker);
      if (!tried && eligible) {
        return null;
      }
      someFailed |= tried && !busy && eligible;
      someBusy |= busy;
      untriedBusy |= !tried && busy;
    }
    if (untriedBusy) {
      return RejectReason.ALL_BUSY;
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
   * Nanoseconds until capacity is expected; 0 if unknown. Capacity returns when a rest ends, or
   * when a full worker completes a request. The full workers' completion rates are added.
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
