package io.pointsman.tool.sim.live;

import io.pointsman.tool.sim.http.SimExchange;

/** Determines the part of requests in KV transfers. */
@FunctionalInterface
public interface HandOvers {
  /** For engines without KV transfer. */
  HandOvers NONE = (exchange, request) -> new WholeRequest(request);

  /**
   * Examines a request.
   *
   * @throws io.pointsman.tool.sim.http.RequestError if this engine cannot serve it
   */
  HandOver open(SimExchange exchange, Generation request);
}
