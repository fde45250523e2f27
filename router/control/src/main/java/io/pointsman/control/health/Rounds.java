package io.pointsman.control.health;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Repeats a task on a virtual thread, with a fixed pause between runs. */
public final class Rounds implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Rounds.class);

  private final CountDownLatch closed = new CountDownLatch(1);

  private Rounds() {}

  /** Starts; the first run is immediate. */
  public static Rounds start(String name, Duration pause, Runnable task) {
    Rounds rounds = new Rounds();
    Thread.ofVirtual().name(name).start(() -> rounds.run(pause, task));
    return rounds;
  }

  private void run(Duration pause, Runnable task) {
    try {
      do {
        runOnce(task);
      } while (!closed.await(pause.toNanos(), TimeUnit.NANOSECONDS));
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private static void runOnce(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException | LinkageError | StackOverflowError e) {
      // An incompatible plug-in, or a deeply nested text, must not end the loop.
      log.error("a background task failed", e);
    }
  }

  /** Starts no further run. */
  @Override
  public void close() {
    closed.countDown();
  }
}
