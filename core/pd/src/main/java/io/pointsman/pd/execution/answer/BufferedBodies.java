package io.pointsman.pd.execution.answer;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Limit on the bodies that remain buffered after their requests, for the release of prefill's
 * blocks. One per event loop, to which it belongs.
 */
public final class BufferedBodies {
  private final long most;
  private final Set<Runnable> waiting = new HashSet<>();
  private long kept;
  private boolean closed;

  /**
   * @param most maximum number of bytes; a single body may exceed it
   */
  BufferedBodies(long most) {
    this.most = most;
  }

  /** Adds a body of {@code bytes} bytes. Returns false if there is no room. */
  public boolean enter(int bytes) {
    if (kept > 0 && kept + bytes > most) {
      return false;
    }
    kept += bytes;
    return true;
  }

  /**
   * Registers a caller that waits for a timer.
   *
   * @param giveUp called if the event loop stops first
   * @return false if the event loop is stopping
   */
  public boolean waits(Runnable giveUp) {
    return !closed && waiting.add(giveUp);
  }

  /** Removes a caller that continues. */
  public void goesOn(Runnable giveUp) {
    waiting.remove(giveUp);
  }

  /** Stops: calls all registered callers. */
  public void close() {
    closed = true;
    List<Runnable> all = List.copyOf(waiting);
    waiting.clear();
    all.forEach(Runnable::run);
  }

  /** Removes a body of {@code bytes} bytes. */
  public void leave(int bytes) {
    kept -= bytes;
  }
}
