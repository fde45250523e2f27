package io.pointsman.engine.fleet;

/**
 * What probes and refused connections say of a worker. Pure state: who probes and when is decided
 * elsewhere. Safe for use by several threads.
 */
public final class HealthState {
  /** What the worker's health is taken to be. Only {@link #HEALTHY} takes traffic. */
  public enum Status {
    /** Not probed yet. */
    UNKNOWN,
    HEALTHY,
    UNHEALTHY,
    /** A connection was refused, or not accepted in time; the next probe decides. */
    SUSPECT
  }

  private final HealthSettings settings;
  private final Runnable onStatusChange;

  private volatile Status status = Status.UNKNOWN;
  private volatile int outages;
  private volatile int restarts;
  private int run;

  /** Good probes in a row that a worker that is out needs. */
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

  /** How often it has stopped being healthy: what was in its memory before may be gone. */
  public int outages() {
    return outages;
  }

  /**
   * How often its engine has ended, most likely: a connection could not be made for a request, and
   * then a probe, which did not run out of time, was not answered well either.
   */
  public int restarts() {
    return restarts;
  }

  synchronized void probed(boolean good) {
    restarts = status == Status.SUSPECT && !good ? restarts + 1 : restarts;
    judge(good);
  }

  /** A probe got no answer in time. It may have been the network. */
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

  /** It takes requests in, though it had no time for a probe. One that is out stays out. */
  synchronized void alive() {
    if (status == Status.HEALTHY || status == Status.SUSPECT) {
      become(Status.HEALTHY);
    }
  }

  /** A connection was refused: no further request until a probe is good. */
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
