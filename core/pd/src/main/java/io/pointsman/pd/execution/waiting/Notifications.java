package io.pointsman.pd.execution.waiting;

/** Engines' notifications about KV transfers. Thread-safe. */
@FunctionalInterface
public interface Notifications {
  /** Source without notifications; each wait ends by its timeout. */
  Notifications NONE = (_, _, _) -> () -> {};

  /** A wait for notifications. */
  @FunctionalInterface
  interface Expected {
    /** Ends the wait. */
    void cancel();
  }

  /**
   * Starts a wait. Call it before the request that causes the notifications.
   *
   * @param id id of the notifications
   * @param count number of notifications; at least 1
   * @param complete called once when all have arrived, on any thread; not after {@link
   *     Expected#cancel}, except for a call in progress
   */
  Expected expect(String id, int count, Runnable complete);
}
