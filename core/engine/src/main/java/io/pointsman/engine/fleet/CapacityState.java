package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadBoard.Mark;

/**
 * The capacity of one worker in relation to others: its weight, less during a slow start and while
 * its KV memory is full; and the load that others put on its engine. The mark {@link
 * Mark#ADJUSTED}, without which loads are compared by the cell alone, changes under this object's
 * lock with the values that it depends on. Any thread.
 */
public final class CapacityState {
  /** Share of a worker at the begin of its slow start. */
  private static final double COLDEST = 0.1;

  private final WorkerCell cell;
  private final Ticker ticker;
  private final long fleetBornAt;
  private volatile double weight;
  private volatile long slowStartNanos;

  /** Time at which the worker became healthy, while it gets less than its full share. */
  private volatile long warmsSince;

  private volatile boolean warms;
  private volatile ReportedLoad reported = ReportedLoad.NONE;
  private volatile int others;

  /**
   * @param fleetBornAt time at which the worker's fleet was created
   */
  CapacityState(
      WorkerCell cell, double weight, long slowStartNanos, long fleetBornAt, Ticker ticker) {
    this.cell = cell;
    this.weight = weight;
    this.slowStartNanos = slowStartNanos;
    this.fleetBornAt = fleetBornAt;
    this.ticker = ticker;
    if (weight != 1) {
      cell.mark(Mark.ADJUSTED, true);
    }
  }

  void configure(long nextSlowStartNanos) {
    slowStartNanos = nextSlowStartNanos;
  }

  /** The capacity in relation to other workers; 1 is usual. */
  public double weight() {
    return weight;
  }

  void weight(double next) {
    if (!WorkerSpec.isWeight(next)) {
      throw new IllegalArgumentException(WorkerSpec.problemOfWeight(next));
    }
    weight = next;
    adjusted();
  }

  private synchronized void adjusted() {
    boolean reports = others > 0 || reported.share() < 1;
    cell.mark(Mark.ADJUSTED, weight != 1 || warms || reports);
  }

  /**
   * Records the load that the engine reports. Requests beyond those of this router count as load in
   * comparisons, and full KV memory as less capacity.
   */
  public void reports(ReportedLoad load) {
    reported = load;
    others = load.others(cell.inFlight());
    adjusted();
  }

  /** The load that the engine has reported last; {@link ReportedLoad#NONE} without a report. */
  public ReportedLoad reported() {
    return reported;
  }

  /** Requests of other clients and routers on the engine, as of its last report. */
  public int others() {
    return others;
  }

  /**
   * Begins a slow start, because the worker has become healthy. Not in the first time of its fleet,
   * when all workers are new.
   */
  synchronized void warm() {
    long now = ticker.nanos();
    if (slowStartNanos > 0 && now - fleetBornAt > slowStartNanos) {
      warmsSince = now;
      warms = true;
      adjusted();
    }
  }

  /** The capacity in relation to others now: the weight, less during a slow start. */
  double share(long now) {
    double own = weight * reported.share();
    if (!warms) {
      return own;
    }
    double warmth = (double) (now - warmsSince) / Math.max(1, slowStartNanos);
    if (warmth >= 1) {
      endWarmth(now);
      return own;
    }
    return own * Math.max(COLDEST, warmth);
  }

  /** Ends the slow start, unless another one has begun. */
  private synchronized void endWarmth(long now) {
    if (warms && now - warmsSince >= slowStartNanos) {
      warms = false;
      adjusted();
    }
  }

  /** The load in comparisons with other workers. */
  int load() {
    int inFlight = cell.inFlight();
    return cell.has(Mark.ADJUSTED) ? compared(inFlight, ticker.nanos()) : inFlight;
  }

  /** The load in comparisons for a number of requests in flight. */
  int compared(int inFlight, long now) {
    return (int) Math.min(LoadBoard.MAX_IN_FLIGHT, (inFlight + others) / share(now));
  }
}
