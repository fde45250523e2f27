package io.pointsman.tool.bench.live;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Polls a router's prediction metrics at a fixed interval. */
final class PredictionLog implements AutoCloseable {
  /** Maximum number of intervals. */
  private static final int MOST = 4_096;

  private final int metricsPort;
  private final Prediction begin;
  private final long begunAt = System.nanoTime();
  private final List<Entry> entries = new ArrayList<>();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  /**
   * Predictions of one interval.
   *
   * @param seconds end of the interval, in seconds since the start
   */
  record Entry(double seconds, Prediction prediction) {}

  private PredictionLog(int metricsPort, Prediction begin) {
    this.metricsPort = metricsPort;
    this.begin = begin;
  }

  /**
   * Starts polling.
   *
   * @param everySeconds length of an interval in seconds
   * @throws IOException if the router has no metrics on this port
   */
  static PredictionLog start(int metricsPort, double everySeconds) throws IOException {
    PredictionLog log = new PredictionLog(metricsPort, Prediction.at(metricsPort));
    long nanos = Math.max(1, Math.round(everySeconds * 1e9));
    log.clock.scheduleAtFixedRate(log::look, nanos, nanos, TimeUnit.NANOSECONDS);
    return log;
  }

  private synchronized void look() {
    if (entries.size() < MOST) {
      try {
        Prediction now = Prediction.at(metricsPort).since(begin);
        entries.add(new Entry((System.nanoTime() - begunAt) / 1e9, now));
      } catch (IOException e) {
        // The next interval is longer.
      }
    }
  }

  /** Predictions from the start to this moment. */
  Prediction total() throws IOException {
    return Prediction.at(metricsPort).since(begin);
  }

  /** Predictions of each interval; intervals without a first token are omitted. */
  synchronized List<Entry> intervals() {
    List<Entry> intervals = new ArrayList<>();
    Prediction before = new Prediction(0, 0, 0, 0, 0);
    for (Entry entry : entries) {
      Prediction during = entry.prediction().since(before);
      before = entry.prediction();
      if (during.count() > 0) {
        intervals.add(new Entry(entry.seconds(), during));
      }
    }
    return intervals;
  }

  @Override
  public void close() {
    clock.shutdownNow();
  }
}
