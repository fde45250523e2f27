package io.pointsman.observe.activity;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.LongAdder;

/**
 * Sums since the start, of one worker or of the fleet, and readings of them over the last minute.
 * Thread-safe. Adding takes no lock.
 */
final class Tally {
  /** Number of kept readings; the oldest is the beginning of the last minute. */
  static final int READINGS = 6;

  final LongAdder placed = new LongAdder();
  final LongAdder ended = new LongAdder();
  final LongAdder errors = new LongAdder();
  final LongAdder tokens = new LongAdder();

  /** Prompt tokens of requests with a prediction, and the predicted cached ones. */
  final LongAdder predictable = new LongAdder();

  final LongAdder predicted = new LongAdder();

  /** Prompt tokens of requests with an engine's count, and the cached ones of that count. */
  final LongAdder reportable = new LongAdder();

  final LongAdder reported = new LongAdder();
  final TimeCounts firstTokens = new TimeCounts();

  /** Oldest first, never empty. Guarded by this. */
  private final Deque<Reading> readings = new ArrayDeque<>(READINGS + 1);

  /** All sums at a time. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Reading(long at, long[] sums, int[] times) {}

  Tally(long now) {
    readings.add(read(now));
  }

  private Reading read(long now) {
    long[] sums = {
      placed.sum(),
      ended.sum(),
      errors.sum(),
      tokens.sum(),
      predictable.sum(),
      predicted.sum(),
      reportable.sum(),
      reported.sum()
    };
    return new Reading(now, sums, firstTokens.read());
  }

  /** Keeps a reading, and returns the figures since the one before. */
  synchronized Figures sample(long now) {
    Reading last = readings.getLast();
    Reading next = read(now);
    readings.add(next);
    if (readings.size() > READINGS) {
      readings.removeFirst();
    }
    return between(last, next);
  }

  /** The figures of the last minute. */
  synchronized Figures recent(long now) {
    return between(readings.getFirst(), read(now));
  }

  private static Figures between(Reading from, Reading to) {
    long[] d = new long[to.sums.length];
    for (int i = 0; i < d.length; i++) {
      d[i] = to.sums[i] - from.sums[i];
    }
    return new Figures(
        (to.at - from.at) / 1e9,
        d[0],
        d[1],
        d[2],
        d[3],
        share(d[5], d[4]),
        share(d[7], d[6]),
        TimeCounts.percentile(from.times, to.times, 0.5),
        TimeCounts.percentile(from.times, to.times, 0.99));
  }

  private static double share(long part, long whole) {
    return whole == 0 ? Double.NaN : Math.min(1, (double) part / whole);
  }
}
