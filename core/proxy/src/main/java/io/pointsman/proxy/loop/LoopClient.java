package io.pointsman.proxy.loop;

/** A client connection, as seen by its event loop. Belongs to that loop. */
public interface LoopClient {
  /** Reports the connection's new index in the loop's list. */
  void movedTo(int newIndex);

  /** Ends work that has exceeded its timeout. Does not throw. */
  void checkTimeouts(long now);

  /**
   * Time since which the connection waits for a request in nanoseconds; {@link #BUSY} if it serves
   * or receives one.
   */
  long idleNanos(long now);

  /** True for a connection to the admin listener. */
  boolean admin();

  /** True if the connection must end after its requests in progress, see {@link Outdated}. */
  boolean outdated();

  /** Result for a connection that is not idle. */
  long BUSY = -1;

  /** Closes the connection unless a request is arriving or in progress. */
  void drain();

  /** Ends all work in progress. */
  void cut();
}
