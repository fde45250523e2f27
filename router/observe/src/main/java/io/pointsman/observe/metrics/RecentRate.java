package io.pointsman.observe.metrics;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * The change of sums in about the last minute, from the values at scrapes. Keeps at most one sample
 * a second. Thread-safe.
 */
final class RecentRate {
  private static final long WINDOW = 60_000_000_000L;
  private static final long STEP = 1_000_000_000L;

  private record RateSample(long at, double count, double seconds) {}

  /**
   * @param perSecond increase of the count in a second
   * @param mean increase of the seconds divided by that of the count; -1 without an increase
   */
  record RateChange(double perSecond, double mean) {}

  private final Deque<RateSample> samples = new ArrayDeque<>();

  /**
   * @param now time at which both sums are 0
   */
  RecentRate(long now) {
    samples.add(new RateSample(now, 0, 0));
  }

  /** The change since the oldest sample in the window, at least since the last sample. */
  synchronized RateChange until(long now, double count, double seconds) {
    while (samples.size() > 1 && now - samples.getFirst().at > WINDOW) {
      samples.removeFirst();
    }
    RateSample first = samples.getFirst();
    if (now - samples.getLast().at >= STEP) {
      samples.addLast(new RateSample(now, count, seconds));
    }
    double more = count - first.count;
    double time = (now - first.at) / 1e9;
    return new RateChange(
        more > 0 && time > 0 ? more / time : 0, more > 0 ? (seconds - first.seconds) / more : -1);
  }
}
