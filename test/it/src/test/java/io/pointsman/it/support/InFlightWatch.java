package io.pointsman.it.support;

import io.pointsman.engine.fleet.Worker;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/** Checks all counts of requests in flight thousands of times per second for negative values. */
final class InFlightWatch implements AutoCloseable {
  /** A negative count appears as a huge one, because counts are unsigned bits. */
  private static final int ABSURD = 1 << 19;

  private final Thread thread;
  private volatile boolean stopped;
  private volatile String negative = "";
  private volatile boolean looked;

  private InFlightWatch(Supplier<List<Worker>> workers) {
    thread = Thread.ofPlatform().daemon().name("in-flight-watch").unstarted(() -> watch(workers));
  }

  static InFlightWatch over(Supplier<List<Worker>> workers) {
    InFlightWatch watch = new InFlightWatch(workers);
    watch.thread.start();
    return watch;
  }

  private void watch(Supplier<List<Worker>> workers) {
    while (!stopped) {
      for (Worker worker : workers.get()) {
        int inFlight = worker.inFlight();
        if (inFlight < 0 || inFlight > ABSURD) {
          negative = worker + ": " + inFlight;
        }
      }
      looked = true;
      LockSupport.parkNanos(300_000);
    }
  }

  void verify() {
    if (!negative.isEmpty()) {
      throw new AssertionError("in flight: " + negative + " (expected: never below 0)");
    }
    if (!looked) {
      throw new AssertionError("in flight: never looked at (expected: sampled all the time)");
    }
  }

  @Override
  public void close() {
    stopped = true;
  }
}
