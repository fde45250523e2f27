package io.pointsman.server.wiring;

import io.pointsman.control.health.Rounds;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** A task that repeats at an interval that may change. Thread-safe. */
final class ChangingRounds implements AutoCloseable {
  private final String name;
  private final Runnable task;

  /** The interval in use; zero while the task does not run. Guarded by this. */
  private Duration interval = Duration.ZERO;

  /** Null while the task does not run. Guarded by this. */
  private @Nullable Rounds running;

  ChangingRounds(String name, Runnable task) {
    this.name = name;
    this.task = task;
  }

  /** Repeats the task at this interval; 0: never. */
  synchronized void every(Duration next) {
    if (next.equals(interval)) {
      return;
    }
    interval = next;
    Rounds before = running;
    if (before != null) {
      before.close();
    }
    running = next.isPositive() ? Rounds.start(name, next, task) : null;
  }

  @Override
  public void close() {
    every(Duration.ZERO);
  }
}
