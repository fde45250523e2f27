package io.pointsman.engine.fleet;

/**
 * Clients that left one worker without any output from it, since its last output. A stalled engine
 * may answer probes; then only its clients notice. One impatient client is no evidence, and neither
 * are many that leave together. Any thread.
 *
 * <p>A departure is clear if the client waited longer than such a request usually takes. {@link
 * #CLEAR} clear departures are a stall. Otherwise {@link #ANY} departures are one, if they span the
 * time without progress that is always allowed.
 */
final class Departures {
  /** Clear departures that are a stall. */
  private static final int CLEAR = 3;

  /** Departures of any kind that are a stall. */
  private static final int ANY = 4;

  /** Minimum time between the first and the last clear departure. */
  private static final long SPREAD_NANOS = 3_000_000_000L;

  /** Departures since the last output. */
  private volatile int count;

  private int clear;
  private long firstAt;
  private long firstClearAt;

  /** Number of departures since the last output. */
  int count() {
    return count;
  }

  /** Records a departure. Returns true if the worker has stalled, by all departures so far. */
  synchronized boolean add(long now, boolean isClear, StallSettings settings) {
    firstAt = count == 0 ? now : firstAt;
    count++;
    if (isClear) {
      firstClearAt = clear == 0 ? now : firstClearAt;
      clear++;
    }
    long patience = settings.patience().toNanos();
    return (clear >= CLEAR && now - firstClearAt >= Math.min(SPREAD_NANOS, patience))
        || (count >= ANY && now - firstAt >= patience);
  }

  /** Forgets all departures, because the worker has sent output. */
  void clear() {
    if (count != 0) {
      forget();
    }
  }

  private synchronized void forget() {
    count = 0;
    clear = 0;
  }
}
