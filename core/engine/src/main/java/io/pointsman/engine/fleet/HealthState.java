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

  /** Result of the last attempt to reach the worker. */
  private enum LastProbe {
    ANSWERED,
    /** A connection was accepted, but there was no response in time. */
    SILENT,
    /** There was no connection, or it broke. */
    UNREACHED
  }

  private volatile HealthSettings settings;
  private final Runnable onStatusChange;

  private volatile Status status = Status.UNKNOWN;
  private volatile int outages;
  private volatile int restarts;
  private volatile int losses;
  private volatile LastProbe lastProbe = LastProbe.ANSWERED;
  private volatile String reason = "not probed yet";
  private int run;

  /** Consecutive successful probes that make the worker healthy again. */
  private int goodNeeded = 1;

  HealthState(HealthSettings settings, Runnable onStatusChange) {
    this.settings = settings;
    this.onStatusChange = onStatusChange;
  }

  /** Replaces the thresholds. */
  void configure(HealthSettings next) {
    settings = next;
  }

  public Status status() {
    return status;
  }

  public boolean healthy() {
    return status == Status.HEALTHY;
  }

  /** The reason why the worker is not healthy, for people; empty if it is healthy. */
  public String reason() {
    String last = reason;
    return status == Status.HEALTHY ? "" : last;
  }

  /** Records why the current probe fails. Call it before the result of the probe. */
  void failing(String why) {
    reason = why;
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

  /** Number of times that it has become unhealthy because it answered no probes. */
  public int losses() {
    return losses;
  }

  /**
   * Returns true if it was healthy before, is unhealthy, and its last probe got a connection but no
   * response in time. It may still serve requests.
   */
  public boolean merelySilent() {
    return status == Status.UNHEALTHY && lastProbe == LastProbe.SILENT && outages > 0;
  }

  /** Begins as healthy, because the worker that this one replaces was. */
  synchronized void beginHealthy() {
    if (status == Status.UNKNOWN) {
      become(Status.HEALTHY);
    }
  }

  synchronized void probed(boolean good) {
    restarts = status == Status.SUSPECT && !good ? restarts + 1 : restarts;
    judge(good, LastProbe.ANSWERED);
  }

  /**
   * Records a probe that got a connection, but no response in time. The network may be the cause,
   * so it is not counted as a restart.
   */
  synchronized void silent() {
    judge(false, LastProbe.SILENT);
  }

  /**
   * Records a probe without a connection.
   *
   * @param timedOut true if the connection was not accepted in time. The network may be the cause,
   *     so it is not counted as a restart
   */
  synchronized void unreached(boolean timedOut) {
    restarts = status == Status.SUSPECT && !timedOut ? restarts + 1 : restarts;
    judge(false, LastProbe.UNREACHED);
  }

  private synchronized void judge(boolean good, LastProbe last) {
    Status before = status;
    boolean wasSilent = merelySilent();
    lastProbe = last;
    judge(good);
    if (status == Status.UNHEALTHY && before != Status.UNHEALTHY && last != LastProbe.ANSWERED) {
      losses++;
    }
    if (wasSilent != merelySilent()) {
      onStatusChange.run();
    }
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
   * Records that the worker sent parts of responses although it did not answer a probe. This counts
   * as a good probe.
   */
  synchronized void alive() {
    if (status != Status.UNKNOWN) {
      judge(true, LastProbe.SILENT);
    }
  }

  /** Records a refused connection. A healthy worker receives no request until a probe succeeds. */
  synchronized void refused() {
    if (status == Status.HEALTHY) {
      goodNeeded = 1;
      reason = "a request got no connection";
      become(Status.SUSPECT);
    } else if (merelySilent()) {
      lastProbe = LastProbe.UNREACHED;
      onStatusChange.run();
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
