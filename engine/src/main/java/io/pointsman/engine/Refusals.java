package io.pointsman.engine;

import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.List;

/** Says why no worker was chosen, and when to try again. */
final class Refusals {
  private Refusals() {}

  /** No worker is known to serve the request's model. */
  static Decision.Rejected noPool(FleetSnapshot snapshot, RoutingRequest request) {
    boolean known = !snapshot.pool(request.role()).isEmpty() && snapshot.allModelsKnown();
    RejectReason reason = known ? RejectReason.UNKNOWN_MODEL : RejectReason.NO_WORKERS;
    return new Decision.Rejected(reason, 0);
  }

  /** None of the candidates may be chosen. */
  static Decision.Rejected none(List<Worker> candidates, RoutingRequest request, long now) {
    return new Decision.Rejected(reason(candidates, request, now), shortestRest(candidates, now));
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

  /** Nanoseconds until the first of those that rest comes back; 0 if none of them rests. */
  private static long shortestRest(List<Worker> candidates, long now) {
    long shortest = Long.MAX_VALUE;
    for (Worker worker : candidates) {
      long rest = worker.merelyBusy(now) ? worker.restLeft(now) : 0;
      shortest = rest > 0 ? Math.min(shortest, rest) : shortest;
    }
    return shortest == Long.MAX_VALUE ? 0 : shortest;
  }
}
