package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadBoard.Mark;

/**
 * The rest of one worker after it reported that it is busy. Its mark and its end change together
 * under this object's lock; readers may see the mark with the end of an older rest. Any thread.
 */
final class RestState {
  private static final long LONGEST = Long.MAX_VALUE / 4;

  private final WorkerCell cell;
  private final Ticker ticker;
  private volatile long until;
  private volatile int status;

  /** True if the worker named the time. */
  private volatile boolean timed;

  RestState(WorkerCell cell, Ticker ticker) {
    this.cell = cell;
    this.ticker = ticker;
  }

  /** Begins a rest. Does not shorten a longer one. */
  synchronized void begin(long nanos, int status, boolean timed) {
    long end = ticker.nanos() + Math.min(nanos, LONGEST);
    if (!cell.has(Mark.RESTING) || end - until > 0) {
      this.status = status;
      this.timed = timed;
      until = end;
    }
    cell.mark(Mark.RESTING, true);
  }

  /** Ends the rest if its time is over. */
  synchronized void endIfOver(long now) {
    if (over(now)) {
      cell.mark(Mark.RESTING, false);
    }
  }

  /** Ends the rest before its time. */
  synchronized void end() {
    cell.mark(Mark.RESTING, false);
  }

  /** Returns true if the time of the last rest is over. */
  boolean over(long now) {
    return now - until >= 0;
  }

  /** Returns true if the worker named the time of its last rest. */
  boolean timed() {
    return timed;
  }

  /** Nanoseconds until the rest is over; 0 or less if the worker does not rest. */
  public long left(long now) {
    return cell.shows(Mark.RESTING) ? until - now : 0;
  }

  /** The HTTP status with which the worker last reported that it is busy; 0 if unknown. */
  public int status() {
    return status;
  }
}
