package io.pointsman.proxy.admission;

/**
 * The status by which a worker last said that it is busy: what clients get while all are resting
 * and none is asked. Safe for use by several threads.
 */
public final class BusyStatus {
  private volatile int status = 503;

  /** What to answer while all workers are busy. */
  public int status() {
    return status;
  }

  /** A worker said that it is busy. */
  public void said(int busyStatus) {
    if (status != busyStatus) {
      status = busyStatus;
    }
  }
}
