package io.pointsman.proxy.split.answer;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Bounds how many bytes of clients' bodies are kept after their requests, to free what prefill
 * holds for them. One for each event loop, to which it belongs.
 */
public final class HeldBodies {
  private final long most;
  private final Set<Runnable> waiting = new HashSet<>();
  private long kept;
  private boolean closed;

  /**
   * @param most bytes; a single body may be larger
   */
  HeldBodies(long most) {
    this.most = most;
  }

  /** Notes a body of so many bytes; false if there is no room for it. */
  public boolean enter(int bytes) {
    if (kept > 0 && kept + bytes > most) {
      return false;
    }
    kept += bytes;
    return true;
  }

  /**
   * Somebody waits for a time to go on.
   *
   * @param giveUp what is to be done if the event loop stops before
   * @return false if it stops already
   */
  public boolean waits(Runnable giveUp) {
    return !closed && waiting.add(giveUp);
  }

  /** The same goes on. */
  public void goesOn(Runnable giveUp) {
    waiting.remove(giveUp);
  }

  /** The event loop stops. */
  public void close() {
    closed = true;
    List<Runnable> all = List.copyOf(waiting);
    waiting.clear();
    all.forEach(Runnable::run);
  }

  /** It is let go of. */
  public void leave(int bytes) {
    kept -= bytes;
  }
}
