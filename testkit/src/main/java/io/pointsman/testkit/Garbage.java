package io.pointsman.testkit;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** Collects garbage, and waits until those who wait for it can know. */
public final class Garbage {
  private static final long PATIENCE_MILLIS = 2000;

  private Garbage() {}

  /** On return every reference to what was garbage at the call has come to its queue. */
  public static void collect() {
    // References come to their queues one after the other, behind the collection that found them:
    // when one of the second collection has come, all of the first have.
    collectOnce();
    collectOnce();
  }

  private static void collectOnce() {
    ReferenceQueue<Object> queue = new ReferenceQueue<>();
    WeakReference<Object> sentinel = new WeakReference<>(new Object(), queue);
    try {
      Await.until("garbage is collected", () -> found(queue));
    } finally {
      Reference.reachabilityFence(sentinel); // a reference that is garbage itself never comes
    }
  }

  private static boolean found(ReferenceQueue<Object> queue) {
    System.gc();
    try {
      return queue.remove(PATIENCE_MILLIS) != null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError("interrupted while garbage is collected", e);
    }
  }
}
