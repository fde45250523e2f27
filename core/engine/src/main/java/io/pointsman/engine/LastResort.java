package io.pointsman.engine;

import io.pointsman.engine.fleet.EjectionLimit;
import io.pointsman.engine.fleet.Role;
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
   *   <li>the least loaded worker that only its rest excludes, if the worker named no time for the
   *       rest. Only for the first attempt of a request that one worker serves;
   *   <li>the least loaded worker that only its stall excludes;
   *   <li>the worker with the longest open breaker, if only the breaker excludes it and an early
   *       trial is due;
   *   <li>a worker that only the shutdown of its engine excludes, once per second: the engine may
   *       have been paused only;
   *   <li>the worker with the longest open breaker without an early trial, if no worker is in
   *       service and the limit of ejections spares the last one. Its breaker closes.
   * </ol>
   *
   * Returns null if there is none of these.
   *
   * @param limit limit of ejections; null for a request that only one worker can serve
   */
  static @Nullable Worker among(
      List<Worker> workers, RoutingRequest request, @Nullable EjectionLimit limit, long now) {
    boolean first = request.role() == Role.REGULAR && request.tried().isEmpty();
    Worker resting = null;
    Worker stalled = null;
    Worker open = null;
    Worker closing = null;
    Worker out = null;
    boolean served = limit == null || !limit.sparesLast();
    for (Worker worker : workers) {
      if (request.admits(worker, now)) {
        return worker;
      }
      served |= worker.inService();
      if (request.tried().contains(worker)) {
        continue;
      }
      if (first
          && worker.exclusion().restsBriefly(now)
          && (resting == null || worker.inFlight() < resting.inFlight())) {
        resting = worker;
      }
      if (worker.exclusion().merelyOpen()
          && (out == null || worker.exclusion().openedBefore(out.exclusion()))) {
        out = worker;
      }
      if (worker.exclusion().merelyStalled(now)
          && (stalled == null || worker.inFlight() < stalled.inFlight())) {
        stalled = worker;
      }
      if (worker.exclusion().triableEarly(now)
          && (open == null || worker.exclusion().openedBefore(open.exclusion()))) {
        open = worker;
      }
      if (worker.exclusion().triableWhileClosing(now)) {
        closing = worker;
      }
    }
    if (resting != null) {
      resting.wake();
      if (request.admits(resting, now)) {
        return resting;
      }
    }
    if (stalled != null) {
      stalled.exclusion().permitStalled();
      if (request.admits(stalled, now)) {
        return stalled;
      }
    }
    if (open != null) {
      open.exclusion().tryEarly(now);
    }
    if (open != null && request.admits(open, now)) {
      return open;
    }
    if (closing != null) {
      closing.exclusion().tryWhileClosing(now);
    }
    if (closing != null && request.admits(closing, now)) {
      return closing;
    }
    if (limit != null && out != null && !served) {
      limit.readmit(out);
    }
    return out != null && request.admits(out, now) ? out : null;
  }
}
