package io.pointsman.pd.execution;

import io.pointsman.engine.fleet.Worker;

/** Execution of one plan by two workers. Belongs to the event loop. */
interface PdExecution {
  /** Sends the first requests. */
  void begin();

  /** Reports that the decode worker failed before the client received any bytes. */
  void decodeFailed(Worker failed);

  /**
   * Continues with another decode worker.
   *
   * @return false if that is impossible; the request must be decided again
   */
  boolean goOn();

  /**
   * Reports that the client has received a part of decode's answer. No other decode worker is
   * tried.
   */
  void reached();

  /**
   * Reports that the client left.
   *
   * @return true if it waited for prefill
   */
  boolean clientLeft();

  /** Ends a prefill on a lost worker. Called periodically. */
  void checkWorkers();

  /**
   * Ends the request. It cancels all requests in progress and frees the blocks that engines hold.
   *
   * @param answered true if the client received a complete answer without an error
   */
  void over(boolean answered);
}
