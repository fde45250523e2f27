package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;

/**
 * Follows one request. Its attempts come one after the other; the last one may still be under way
 * when the request ends. Called on the client's event loop: must not block or throw.
 */
public interface RequestTrace {
  /** An attempt on {@code worker} begins. */
  void tries(Worker worker);

  /** What the request of the attempt under way carries in place of the client's own. */
  TraceContext context();

  /**
   * The attempt under way has ended, and not with the request's answer.
   *
   * @param status the status that it was answered with; 0 for none
   */
  void gaveUp(RetryReason reason, int status);

  /** The attempt under way, if there is one, is given up: nobody needs its answer any more. */
  void withdrawn();

  /** The attempt under way is answered, and the client gets that answer. */
  void answered(int status);

  /**
   * A request to {@code worker} begins that is no attempt: its answer is not the client's. Several
   * may be under way at once.
   */
  SideTrace side(Worker worker, SideTrace.Purpose purpose);

  /** The request is over, on whatever path; called once. {@code report} must not be kept. */
  void ended(RequestReport report);
}
