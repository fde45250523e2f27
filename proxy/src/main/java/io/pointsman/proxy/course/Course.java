package io.pointsman.proxy.course;

import io.pointsman.engine.fleet.Worker;

/** The way of one request through one worker or several. Belongs to the client's event loop. */
public interface Course {
  /**
   * Places the request, at first and after each failed attempt that another one follows. Ends, at
   * once or later, in one of the calls of {@link Served}.
   */
  void place();

  /** The attempt on {@code failed} has failed before the client got any of it; another follows. */
  void failed(Worker failed);

  /**
   * The request is over; nobody hears of {@link Served} any more.
   *
   * @param answered whether the client got a whole answer that is no error
   */
  void over(boolean answered);
}
