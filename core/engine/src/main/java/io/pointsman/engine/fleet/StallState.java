package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import java.util.concurrent.atomic.LongAdder;

/**
 * The progress of one worker, and its stalls. A stalled worker is excluded except for trials. It
 * returns with its next output. The {@link EjectionLimit} can refuse the exclusion; the worker then
 * stays in service.
 *
 * <p>Progress does not wait for a check: output writes its time first and removes the mark then. A
 * check reads the time, marks, and reads the time again; if it has changed, the check removes the
 * mark itself. So a worker that has just shown progress is not stalled, in any order. Any thread.
 */
final class StallState {
  /**
   * Minimum number of silent non-streaming requests that count as a stall. So many rarely take the
   * longest time by chance.
   */
  private static final int PILE = 4;

  private final WorkerCell cell;
  private final RequestCounts counts;
  private final Ticker ticker;

  /** Time of whole requests. */
  private final ServiceTime serviceTime;

  private final ServiceTime firstOutput = new ServiceTime();
  private final StallTrials trials = new StallTrials();
  private final Departures departures = new Departures();
  private final LongAdder stalls = new LongAdder();
  private final LongAdder deserted = new LongAdder();
  private final StallLimits.Exclusions excludes;

  /** True if the exclusion was refused since the last output. */
  private volatile boolean spared;

  private volatile StallSettings settings;
  private volatile long lastProgressAt;

  /** Time of the last output; far in the past before the first. */
  private volatile long lastOutputAt;

  private volatile int byDepartures;

  StallState(
      WorkerCell cell,
      RequestCounts counts,
      ServiceTime serviceTime,
      StallLimits limits,
      Ticker ticker) {
    this.cell = cell;
    this.counts = counts;
    this.serviceTime = serviceTime;
    settings = limits.patience();
    excludes = limits.excludes();
    this.ticker = ticker;
    lastProgressAt = ticker.nanos();
    lastOutputAt = lastProgressAt - Long.MAX_VALUE / 2;
  }

  void configure(StallSettings next) {
    settings = next;
    if (!next.enabled()) {
      end();
    }
  }

  boolean stalled() {
    return cell.shows(Mark.STALLED);
  }

  /**
   * Begins a stall if the worker has requests in flight and shows no progress for longer than
   * {@code patience} allows.
   *
   * <p>Non-streaming requests show no progress. If all are such, only {@link #PILE} or more that
   * stay silent for the longest time count. Requests that are sent later do not count.
   */
  void check(StallSettings patience, long now) {
    if (stalled()) {
      return;
    }
    int inFlight = cell.inFlight() - counts.unsent();
    int quiet = counts.whole();
    long allowed =
        inFlight > quiet
            ? patience.allowedNanos(counts.pendingTokens())
            : inFlight >= PILE ? patience.maxPatience().toNanos() : Long.MAX_VALUE;
    long last = lastProgressAt;
    if (now - last > allowed && inFlight > 0) {
      begin(now, 0);
      if (lastProgressAt != last) {
        // Progress came between the check and the mark. Later progress removes the mark.
        cell.mark(Mark.STALLED, false);
      }
    }
  }

  private synchronized void begin(long now, int departed) {
    if (!stalled()) {
      spared =
          !excludes.exclude(
              !spared,
              () -> {
                stalls.increment();
                byDepartures = departed;
                trials.begin(now, settings);
                cell.mark(Mark.STALLED, true);
              });
    }
  }

  /**
   * Records that a client left before any output of its request. This is evidence of a stall if no
   * other request had output since then.
   *
   * @param sentAt time at which the request was sent
   * @param whole true if the response is non-streaming, so its first output is its end
   * @param tokens prompt tokens that the worker has to compute
   */
  void deserted(long sentAt, boolean whole, int tokens) {
    deserted.increment();
    if (!settings.enabled() || lastOutputAt - sentAt > 0) {
      return;
    }
    long now = ticker.nanos();
    boolean clear = now - sentAt >= usualNanos(whole, tokens);
    if (departures.add(now, clear, settings)) {
      begin(now, departures.count());
    }
  }

  /** Time within which a request has output, unless the worker has stalled. */
  private long usualNanos(boolean whole, int tokens) {
    long mean = whole ? serviceTime.nanos() : firstOutput.nanos();
    if (whole) {
      return mean == 0 ? Long.MAX_VALUE : 2 * mean;
    }
    return Math.max(2 * mean, settings.explainedNanos(tokens));
  }

  /** Starts the time without progress: it does not count while no request was sent. */
  void restart(long now) {
    lastProgressAt = now;
  }

  /** Starts the time without progress anew, because a client delays reading the response. */
  void reprieve() {
    lastProgressAt = ticker.nanos();
    end();
  }

  /** Records the first output of a streamed response. */
  void began(long now, long sentAt) {
    firstOutput.took(now - sentAt);
  }

  /** Records output at {@code now}. */
  void progressed(long now) {
    lastProgressAt = now;
    reportedOutput(now);
  }

  /** Records output that another proxy reported. Its time is not that of progress. */
  void reportedOutput(long now) {
    lastOutputAt = now;
    end();
  }

  private void end() {
    departures.clear();
    if (spared) {
      spared = false;
    }
    if (stalled()) {
      cell.mark(Mark.STALLED, false);
    }
  }

  /** Returns true if a stalled worker would admit a request. */
  boolean admits(long now) {
    return trials.admits(now);
  }

  /** Admits a request to a stalled worker, or refuses it. */
  StallTrials.StallTurn admit(long now) {
    return trials.admit(now);
  }

  /** Permits one request although the worker has stalled, because no better worker is left. */
  void permit() {
    trials.permit();
  }

  /** Records the end of a trial request without output. */
  void trialFailed() {
    trials.failed(ticker.nanos());
  }

  /** Departures of clients that caused the present stall; 0 if silence caused it. */
  public int byDepartures() {
    return byDepartures;
  }

  /** Number of times the worker has stalled. */
  public long count() {
    return stalls.sum();
  }

  /** Clients that left before any output of their requests. */
  public long deserted() {
    return deserted.sum();
  }
}
