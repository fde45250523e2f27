package io.pointsman.sim.live;

import io.pointsman.sim.http.Exchange;

/** Finds out what a request has to do with the KV of other engines. */
@FunctionalInterface
public interface HandOvers {
  /** For engines that keep to themselves. */
  HandOvers NONE = (exchange, request) -> new WholeRequest(request);

  /**
   * Looks at a request.
   *
   * @throws io.pointsman.sim.http.RequestError if it is not what this engine can serve
   */
  HandOver open(Exchange exchange, Generation request);
}
