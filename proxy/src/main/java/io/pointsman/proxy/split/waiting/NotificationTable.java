package io.pointsman.proxy.split.waiting;

import java.util.HashMap;
import java.util.Map;

/**
 * Who waits for which notifications, by what these carry. Whoever receives them, from whatever
 * socket, calls {@link #arrived}. As many wait as there are requests under way; notifications that
 * nobody waits for are dropped.
 */
public final class NotificationTable implements Notifications {
  private static final class Wait {
    private final Runnable complete;
    private int missing;

    Wait(int missing, Runnable complete) {
      this.missing = missing;
      this.complete = complete;
    }
  }

  /** Guarded by this. */
  private final Map<String, Wait> waits = new HashMap<>();

  @Override
  public Expected expect(String id, int count, Runnable complete) {
    synchronized (this) {
      waits.put(id, new Wait(count, complete));
    }
    return () -> forget(id);
  }

  private synchronized void forget(String id) {
    waits.remove(id);
  }

  /**
   * One more notification has come.
   *
   * @return whether anybody waits for it
   */
  public boolean arrived(String id) {
    Wait wait;
    synchronized (this) {
      wait = waits.get(id);
      if (wait == null) {
        return false;
      }
      wait.missing--;
      if (wait.missing > 0) {
        return true;
      }
      waits.remove(id);
    }
    wait.complete.run();
    return true;
  }

  /** How many wait. */
  public synchronized int waiting() {
    return waits.size();
  }
}
