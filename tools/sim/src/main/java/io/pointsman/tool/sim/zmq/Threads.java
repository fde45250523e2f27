package io.pointsman.tool.sim.zmq;

/** Waits for threads to end. */
final class Threads {
  private static final long PATIENCE_MILLIS = 10_000;

  private Threads() {}

  static void join(Thread thread) {
    try {
      thread.join(PATIENCE_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
