package io.pointsman.tool.replay.run;

import java.util.Arrays;
import java.util.List;

/**
 * A run in windows of equal length: the work of each engine, and the times to first token. Requests
 * count in the window of their placement, times to first token in the window of arrival.
 */
public final class TimeLine {
  /** Maximum number of windows; beyond it, windows become wider. */
  static final int MOST_WINDOWS = 1000;

  private final double seconds;
  private final List<Presence> engines;
  private final int[][] requests;
  private final long[][] tokens;
  private final double[] present;
  private final double[] ttftSum;
  private final int[] arrived;

  TimeLine(
      List<Presence> engines, List<ReplayedResponse> served, double length, double windowSeconds) {
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

  private void count(ReplayedResponse each) {
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

  /** Seconds of a window in which an engine was present. */
  private double presence(int engine, int window) {
    return engines.get(engine).within(window * seconds, (window + 1) * seconds);
  }

  /** Length of a window in seconds. */
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
   * Tokens computed by an engine per second of presence, relative to the mean of all engines: 1 is
   * an even share. NaN for windows without the engine or without work.
   */
  public double share(int engine, int window) {
    double its = presence(engine, window);
    long all = Arrays.stream(tokens).mapToLong(each -> each[window]).sum();
    return its == 0 || all == 0
        ? Double.NaN
        : tokens[engine][window] / its / (all / present[window]);
  }

  /** Mean time to first token of the requests that arrived in a window; NaN if there were none. */
  public double ttftMean(int window) {
    return arrived[window] == 0 ? Double.NaN : ttftSum[window] / arrived[window];
  }
}
