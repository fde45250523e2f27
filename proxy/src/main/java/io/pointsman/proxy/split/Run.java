package io.pointsman.proxy.split;

import io.pointsman.engine.fleet.Worker;

/** One plan being carried out by two workers. Belongs to the event loop. */
interface Run {
  /** Sends what is to be sent first. */
  void begin();

  /** The decode worker failed before the client got anything. */
  void decodeFailed(Worker failed);

  /**
   * Goes on after that with another decode worker.
   *
   * @return false if that is not possible: the request has to be decided anew
   */
  boolean goOn();

  /** The client has got a part of decode's answer: no other decode worker is asked. */
  void reached();

  /**
   * The request is over: whatever still runs for it ends, and what engines hold for it is freed.
   *
   * @param answered whether the client got a whole answer that is no error
   */
  void over(boolean answered);
}
