package io.pointsman.proxy.split.waiting;

/**
 * Notifications of engines that a hand-over is under way, and who waits for them. Safe for any
 * number of threads.
 */
@FunctionalInterface
public interface Notifications {
  /** Nobody hears of any: whoever waits does so to the end of its patience. */
  Notifications NONE = (_, _, _) -> () -> {};

  /** Somebody who waits. */
  @FunctionalInterface
  interface Expected {
    /** Waits no more. */
    void cancel();
  }

  /**
   * Begins to wait; before the request that brings them is sent.
   *
   * @param id what the notifications carry
   * @param count how many; at least 1
   * @param complete called once when all have come, on any thread; not after {@link
   *     Expected#cancel} has returned, but for a call that is under way
   */
  Expected expect(String id, int count, Runnable complete);
}
