package io.pointsman.tool.bench.picks;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.HdrHistogram.Histogram;

/** Closed-loop load: each caller sends its next request after the previous response. */
final class PickLoad {
  private static final long MOST_NANOS = 60_000_000_000L;

  private PickLoad() {}

  /**
   * Result of a run.
   *
   * @param perSecond picks per second
   * @param p50 latency in microseconds
   * @param p99 latency in microseconds
   */
  record Result(double perSecond, double p50, double p99) {}

  /**
   * Runs {@code callers} callers for the duration {@code time}.
   *
   * @throws IOException if a request does not return 200
   */
  static Result run(PickMethod way, int port, List<byte[]> requests, int callers, Duration time)
      throws IOException, InterruptedException {
    try (ExecutorService threads = Executors.newFixedThreadPool(callers)) {
      long begin = System.nanoTime();
      long end = begin + time.toNanos();
      List<Future<Histogram>> all = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        int first = i * (requests.size() / callers);
        all.add(threads.submit(() -> one(way, port, requests, first, end)));
      }
      Histogram sum = new Histogram(MOST_NANOS, 3);
      for (Future<Histogram> each : all) {
        sum.add(each.get());
      }
      double seconds = (System.nanoTime() - begin) / 1e9;
      return new Result(
          sum.getTotalCount() / seconds,
          sum.getValueAtPercentile(50) / 1e3,
          sum.getValueAtPercentile(99) / 1e3);
    } catch (ExecutionException e) {
      throw new IOException(way.label() + ": " + e.getCause(), e);
    }
  }

  private static Histogram one(PickMethod way, int port, List<byte[]> requests, int first, long end)
      throws IOException {
    Histogram times = new Histogram(MOST_NANOS, 3);
    try (PickCaller caller = new PickCaller(port)) {
      for (int next = first; System.nanoTime() - end < 0; next++) {
        long sent = System.nanoTime();
        caller.pick(way, requests.get(next % requests.size()));
        times.recordValue(Math.min(System.nanoTime() - sent, MOST_NANOS));
      }
    }
    return times;
  }
}
