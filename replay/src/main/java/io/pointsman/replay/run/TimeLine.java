package io.pointsman.replay.run;

import java.util.Arrays;
import java.util.List;

/**
 * A run, cut into windows of equal length: who was given how much, and how soon answers began.
 * Requests count in the window in which they were placed, times to first token in that in which the
 * request came.
 */
public final class TimeLine {
  /** More windows than this become wider ones. */
  static final int MOST_WINDOWS = 1000;

  private final double seconds;
  private final List<Presence> engines;
  private final int[][] requests;
  private final long[][] tokens;
  private final double[] present;
  private final double[] ttftSum;
  private final int[] arrived;

  TimeLine(List<Presence> engines, List<Served> served, double length, double windowSeconds) {
    if (!(windowSeconds > 0)) {
      throw new IllegalArgumentException("window: " + windowSeconds + " (expected: above 0)");
    }
    double wide = windowSeconds;
    while (length / wide > MOST_WINDOWS) {
      wide *= 2;
    }
    seconds = wide;
    this.engines = List.copyOf(engines);
    int windows = Math.max(1, (int) Math.ceil(length / wide));
    requests = new int[engines.size()][windows];
    tokens = new long[engines.size()][windows];
    present = new double[windows];
    ttftSum = new double[windows];
    arrived = new int[windows];
    served.forEach(this::count);
    for (int window = 0; window < windows; window++) {
      for (int engine = 0; engine < engines.size(); engine++) {
        present[window] += presence(engine, window);
      }
    }
  }

  private void count(Served each) {
    int placed = window(each.placedAt());
    requests[each.engine()][placed]++;
    tokens[each.engine()][placed] += each.computedTokens();
    int came = window(each.arrivedAt());
    arrived[came]++;
    ttftSum[came] += each.ttftMillis();
  }

  private int window(long nanos) {
    return Math.min(arrived.length - 1, (int) (nanos / 1e9 / seconds));
  }

  /** Seconds of a window in which an engine was there. */
  private double presence(int engine, int window) {
    return engines.get(engine).within(window * seconds, (window + 1) * seconds);
  }

  /** Length of a window. */
  public double windowSeconds() {
    return seconds;
  }

  public int windows() {
    return arrived.length;
  }

  /** In the order in which they joined. */
  public List<Presence> engines() {
    return engines;
  }

  /** Requests placed on an engine, by window. */
  public int[] requests(int engine) {
    return requests[engine].clone();
  }

  /** Prompt tokens that an engine had to compute for them, by window. */
  public long[] computedTokens(int engine) {
    return tokens[engine].clone();
  }

  /**
   * What an engine had to compute for each second that it was there, in parts of what engines had
   * on average: 1 is an even share. NaN in windows in which it was not there or nobody had
   * anything.
   */
  public double share(int engine, int window) {
    double its = presence(engine, window);
    long all = Arrays.stream(tokens).mapToLong(each -> each[window]).sum();
    return its == 0 || all == 0
        ? Double.NaN
        : tokens[engine][window] / its / (all / present[window]);
  }

  /** Mean time to first token of the requests that came in a window; NaN if none did. */
  public double ttftMean(int window) {
    return arrived[window] == 0 ? Double.NaN : ttftSum[window] / arrived[window];
  }
}
