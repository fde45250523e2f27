package io.pointsman.engine;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds a worker where policies find none: a refusal helps nobody. Silence can have reasons that
 * the router does not see, and many faults in a short time can open the breakers of a whole fleet
 * that is well again.
 */
final class LastResort {
  private LastResort() {}

  /**
   * The first that admits the request; else the least loaded of those that are only stalled; else
   * the one whose breaker opened longest ago, of those that only their breaker keeps away and that
   * are due for an early trial. Null if there is none of these either.
   */
  static @Nullable Worker among(List<Worker> workers, RoutingRequest request, long now) {
    Worker stalled = null;
    Worker open = null;
    for (Worker worker : workers) {
      if (request.admits(worker, now)) {
        return worker;
      }
      if (request.tried().contains(worker)) {
        continue;
      }
      if (worker.merelyStalled(now)
          && (stalled == null || worker.inFlight() < stalled.inFlight())) {
        stalled = worker;
      }
      if (worker.triableEarly(now) && (open == null || worker.openedBefore(open))) {
        open = worker;
      }
    }
    if (stalled != null) {
      stalled.reprieve();
      if (request.admits(stalled, now)) {
        return stalled;
      }
    }
    if (open != null) {
      open.tryEarly(now);
    }
    return open != null && request.admits(open, now) ? open : null;
  }
}
