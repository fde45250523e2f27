package io.pointsman.pd.execution.waiting;

import java.util.HashMap;
import java.util.Map;

/**
 * Table of requests that wait for notifications, by the notifications' id. Each receiver of
 * notifications calls {@link #arrived}. Notifications without a waiting request are dropped. Its
 * size is bounded by the requests in progress. Thread-safe.
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
   * Records one notification.
   *
   * @return true if a request waits for it
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

  /** Number of waiting requests. */
  public synchronized int waiting() {
    return waits.size();
  }
}
