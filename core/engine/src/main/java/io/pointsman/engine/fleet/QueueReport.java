package io.pointsman.engine.fleet;

/**
 * The requests that an engine reported as running or queued. Other routers' requests are among
 * them.
 *
 * @param requests number of requests
 * @param inFlight this router's requests in flight at that time
 * @param until time from which the report is too old, in nanoseconds of the worker's clock
 */
public record QueueReport(int requests, int inFlight, long until) {
  /** True if the report is too old. */
  public boolean stale(long now) {
    return now - until >= 0;
  }

  /**
   * The estimated number of requests now. It follows this router's own requests since the report.
   *
   * @param inFlightNow this router's requests in flight
   */
  public int estimate(int inFlightNow) {
    return Math.max(0, requests + inFlightNow - inFlight);
  }
}
