package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Worker;

/** The workers that may still get a request. */
public interface Candidates {
  /** All eligible workers, whether they were tried or not. */
  Candidates ELIGIBLE = Worker::eligible;

  /** True if the handler would send the request to {@code worker} now. */
  boolean admits(Worker worker, long now);

  /** True if an answer with this status leads to another worker, beside the usual retries. */
  default boolean goesOnAfter(int status) {
    return false;
  }

  /**
   * True if another worker may get the request after one that does not serve its model any more.
   */
  default boolean goesOnWithoutModel() {
    return false;
  }

  /** True if workers were not tried that may have the model or stored response of the request. */
  default boolean someUntried() {
    return false;
  }
}
