package io.pointsman.engine;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds a worker after the policy and least load found none. Silence of a worker can have causes
 * that the router does not see. Many faults in a short time can open the breakers of a fleet that
 * has recovered.
 */
final class LastResort {
  private LastResort() {}

  /**
   * Chooses in this order:
   *
   * <ol>
   *   <li>the first worker that admits the request;
   *   <li>the least loaded worker that only its stall excludes;
   *   <li>the worker with the longest open breaker, if only the breaker excludes it and an early
   *       trial is due;
   *   <li>a worker that only the shutdown of its engine excludes, once per second: the engine may
   *       have been paused only.
   * </ol>
   *
   * Returns null if there is none of these.
   */
  static @Nullable Worker among(List<Worker> workers, RoutingRequest request, long now) {
    Worker stalled = null;
    Worker open = null;
    Worker closing = null;
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
      if (worker.triableWhileClosing(now)) {
        closing = worker;
      }
    }
    if (stalled != null) {
      stalled.permitStalled();
      if (request.admits(stalled, now)) {
        return stalled;
      }
    }
    if (open != null) {
      open.tryEarly(now);
    }
    if (open != null && request.admits(open, now)) {
      return open;
    }
    if (closing != null) {
      closing.tryWhileClosing(now);
    }
    return closing != null && request.admits(closing, now) ? closing : null;
  }
}
