package io.pointsman.testkit;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;

/** Collects garbage and waits until reference queues have received the collected references. */
public final class Garbage {
  private static final long PATIENCE_MILLIS = 2000;

  private Garbage() {}

  /**
   * When this method returns, each reference to an object that was garbage at the call is in its
   * queue.
   */
  public static void collect() {
    // References are enqueued one after the other, after their collection. Once a reference of the
    // second collection arrives, all references of the first have arrived.
    collectOnce();
    collectOnce();
  }

  private static void collectOnce() {
    ReferenceQueue<Object> queue = new ReferenceQueue<>();
    WeakReference<Object> sentinel = new WeakReference<>(new Object(), queue);
    try {
      Await.until("garbage is collected", () -> found(queue));
    } finally {
      Reference.reachabilityFence(sentinel); // a reference that is itself garbage is never enqueued
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
