package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;

/**
 * Trace of one request. Its attempts follow each other. The last one may be in progress when the
 * request ends. Called on the client's event loop; must not block or throw.
 */
public interface RequestTrace {
  /** Starts the trace of an attempt on {@code worker}. */
  AttemptTrace attempt(Worker worker);

  /**
   * Starts the trace of a request to {@code worker} that is not an attempt: its answer is not the
   * client's. Several can be in progress together.
   */
  SideTrace side(Worker worker, SideTrace.Purpose purpose);

  /** Reports the end of the request, on every path, once. */
  void ended(RequestReport report);
}
