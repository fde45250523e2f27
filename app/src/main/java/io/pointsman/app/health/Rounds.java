package io.pointsman.app.health;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Does a small task again and again, on a virtual thread, with a fixed pause in between. */
public final class Rounds implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Rounds.class);

  private final CountDownLatch closed = new CountDownLatch(1);

  private Rounds() {}

  /** Begins; the first round is at once. */
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
    } catch (RuntimeException | LinkageError e) {
      // A plug-in that does not fit must not end the rounds.
      log.error("a background task failed", e);
    }
  }

  /** Begins no further round. */
  @Override
  public void close() {
    closed.countDown();
  }
}
