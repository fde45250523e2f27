package io.pointsman.bench.live;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Asks a router again and again what has come of its predictions. */
final class PredictionLog implements AutoCloseable {
  /** So many intervals at most, whatever the length of a run. */
  private static final int MOST = 4_096;

  private final int metricsPort;
  private final Prediction begin;
  private final long begunAt = System.nanoTime();
  private final List<Entry> entries = new ArrayList<>();
  private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

  /**
   * What came of the predictions of one interval.
   *
   * @param seconds when it ended, from the beginning
   */
  record Entry(double seconds, Prediction prediction) {}

  private PredictionLog(int metricsPort, Prediction begin) {
    this.metricsPort = metricsPort;
    this.begin = begin;
  }

  /**
   * Begins.
   *
   * @param everySeconds length of an interval
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
        // The next interval will be longer.
      }
    }
  }

  /** Of the whole time up to now. */
  Prediction total() throws IOException {
    return Prediction.at(metricsPort).since(begin);
  }

  /** Interval by interval; those without a first token are left out. */
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
