package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;

/**
 * Trace of one request. Its attempts follow each other. The last one may be in progress when the
 * request ends. Called on the client's event loop; must not block or throw.
 */
public interface RequestTrace {
  /** Reports the start of an attempt on {@code worker}. */
  void tries(Worker worker);

  /** Trace headers for the current attempt, in place of the client's. */
  TraceContext context();

  /**
   * Reports that the current attempt ended without the request's answer.
   *
   * @param status status of its answer; 0 for none
   */
  void gaveUp(RetryReason reason, int status);

  /** Reports that the current attempt, if any, was cancelled because its answer is not needed. */
  void withdrawn();

  /** Reports that the client gets the answer of the current attempt. */
  void answered(int status);

  /**
   * Starts the trace of a request to {@code worker} that is not an attempt: its answer is not the
   * client's. Several can be in progress together.
   */
  SideTrace side(Worker worker, SideTrace.Purpose purpose);

  /** Reports the end of the request, on every path, once. {@code report} must not be kept. */
  void ended(RequestReport report);
}
