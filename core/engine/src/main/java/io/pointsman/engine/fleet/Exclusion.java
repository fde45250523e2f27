package io.pointsman.engine.fleet;

import io.pointsman.engine.fleet.LoadBoard.Mark;

/**
 * Conditions that alone exclude one worker from requests, and exceptions from them if no other
 * worker is left. Each answer is of the moment; another thread may change it at once.
 */
public final class Exclusion {
  private final Worker worker;
  private final WorkerCell cell;

  Exclusion(Worker worker, WorkerCell cell) {
    this.worker = worker;
    this.cell = cell;
  }

  /** Returns true if only being busy excludes it: it rests or is at its limit. */
  boolean merelyBusy(long now) {
    int value = cell.value();
    int idle = LoadBoard.without(value, Mark.RESTING) & ~LoadBoard.MAX_IN_FLIGHT;
    return !cell.left() && !worker.eligible(value, now) && worker.eligible(idle, now);
  }

  /** Returns true if only its rest excludes it, and it named no time for that. */
  public boolean restsBriefly(long now) {
    return cell.shows(Mark.RESTING)
        && !worker.restState().timed()
        && eligibleWithout(Mark.RESTING, now);
  }

  /** Returns true if only its stall excludes it. */
  public boolean merelyStalled(long now) {
    return worker.stalled() && eligibleWithout(Mark.STALLED, now);
  }

  /** Permits one request although it has stalled. */
  public void permitStalled() {
    worker.stallState().permit();
  }

  /** Returns true if it could serve, but its breaker is open. */
  public boolean merelyOpen() {
    return worker.inServiceWithoutBreaker()
        && worker.breaker().state() == CircuitBreaker.State.OPEN;
  }

  /** Returns true if its breaker opened longer ago than that of {@code other}. */
  public boolean openedBefore(Exclusion other) {
    return worker.breaker().openedAt() - other.worker.breaker().openedAt() < 0;
  }

  /** Returns true if only its open breaker excludes it and an early trial is due. */
  public boolean triableEarly(long now) {
    return !cell.left() && worker.breaker().admitsEarly(now) && eligibleWithout(Mark.BREAKER, now);
  }

  /** Admits one request through its open breaker early. */
  public void tryEarly(long now) {
    worker.breaker().tryEarly(now);
  }

  /** Returns true if only the shutdown of its engine excludes it and an early trial is due. */
  public boolean triableWhileClosing(long now) {
    return worker.closing()
        && worker.shutdown().trialDueEarly(now)
        && eligibleWithout(Mark.CLOSING, now);
  }

  /** Admits one trial request although its engine shuts down. */
  public void tryWhileClosing(long now) {
    worker.shutdown().tryEarly(now);
  }

  private boolean eligibleWithout(Mark mark, long now) {
    return worker.eligible(LoadBoard.without(cell.value(), mark), now);
  }
}
