package io.pointsman.engine.fleet;

/**
 * The health of one worker, derived from probe results and refused connections. It does not
 * schedule probes. Safe for use by several threads.
 */
public final class HealthState {
  /** Health of a worker. Only {@link #HEALTHY} workers receive requests. */
  public enum Status {
    /** Not probed yet. */
    UNKNOWN,
    HEALTHY,
    UNHEALTHY,
    /** A connection was refused or not accepted in time. The next probe decides. */
    SUSPECT
  }

  private final HealthSettings settings;
  private final Runnable onStatusChange;

  private volatile Status status = Status.UNKNOWN;
  private volatile int outages;
  private volatile int restarts;
  private int run;

  /** Consecutive successful probes that make the worker healthy again. */
  private int goodNeeded = 1;

  HealthState(HealthSettings settings, Runnable onStatusChange) {
    this.settings = settings;
    this.onStatusChange = onStatusChange;
  }

  public Status status() {
    return status;
  }

  public boolean healthy() {
    return status == Status.HEALTHY;
  }

  /**
   * Number of times the worker has stopped being healthy. Its memory may have been lost each time.
   */
  public int outages() {
    return outages;
  }

  /**
   * Estimated number of engine restarts. One is counted if a request could not connect and the next
   * probe then failed without a timeout.
   */
  public int restarts() {
    return restarts;
  }

  synchronized void probed(boolean good) {
    restarts = status == Status.SUSPECT && !good ? restarts + 1 : restarts;
    judge(good);
  }

  /**
   * Records a probe that timed out. The network may be the cause, so it is not counted as a
   * restart.
   */
  synchronized void silent() {
    judge(false);
  }

  private void judge(boolean good) {
    switch (status) {
      case UNKNOWN, SUSPECT -> become(good ? Status.HEALTHY : Status.UNHEALTHY);
      case HEALTHY -> {
        goodNeeded = settings.successThreshold();
        count(good, settings.failureThreshold(), Status.UNHEALTHY);
      }
      case UNHEALTHY -> count(!good, goodNeeded, Status.HEALTHY);
    }
  }

  /**
   * Records that the worker accepts requests although it did not answer a probe. An unhealthy
   * worker stays unhealthy.
   */
  synchronized void alive() {
    if (status == Status.HEALTHY || status == Status.SUSPECT) {
      become(Status.HEALTHY);
    }
  }

  /** Records a refused connection. A healthy worker receives no request until a probe succeeds. */
  synchronized void refused() {
    if (status == Status.HEALTHY) {
      goodNeeded = 1;
      become(Status.SUSPECT);
    }
  }

  private void count(boolean asBefore, int threshold, Status next) {
    run = asBefore ? 0 : run + 1;
    if (run >= threshold) {
      become(next);
    }
  }

  private void become(Status next) {
    run = 0;
    if (status != next) {
      outages = status == Status.HEALTHY ? outages + 1 : outages;
      status = next;
      onStatusChange.run();
    }
  }
}
