package io.pointsman.engine.architecture.planted;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.testkit.FakeClock;
import java.net.URI;

/** Violates each architecture rule once, to show that the rules can fail. */
public final class ClockManager {
  private ClockManager() {}

  public static long violate(Worker worker) {
    long seen = URI.create(worker.spec().url()).hashCode();
    return seen + System.nanoTime() + new FakeClock().nanos();
  }
}
