package io.pointsman.tool.replay.random;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Runs random workloads in parallel and prints them in the order of their seeds. */
public final class RandomReplay {
  private final SeedRange seeds;
  private final RandomOptions options;
  private final ReferenceFile reference;

  private RandomReplay(SeedRange seeds, RandomOptions options, ReferenceFile reference) {
    this.seeds = seeds;
    this.options = options;
    this.reference = reference;
  }

  /**
   * Runs and prints the workloads.
   *
   * @param file stores the results of other policies; null: none
   * @param json true prints objects instead of tables
   */
  public static void run(
      SeedRange seeds, RandomOptions options, @Nullable Path file, boolean json, PrintWriter out)
      throws IOException {
    RandomReplay replay = new RandomReplay(seeds, options, ReferenceFile.open(file));
    if (json) {
      List<Comparison> rows = replay.rows(_ -> {});
      out.println(ComparisonJson.text(rows));
    } else if (seeds.single()) {
      replay.rows(row -> out.print(ComparisonTable.details(row)));
    } else {
      out.println(ComparisonTable.HEADER);
      List<Comparison> rows =
          replay.rows(
              row -> {
                out.println(ComparisonTable.row(row));
                out.flush();
              });
      out.print(ComparisonTable.summary(rows));
    }
    out.flush();
  }

  /** Receives each row in the order of seeds, as soon as it and all previous rows are known. */
  private interface RowListener {
    void row(Comparison row);
  }

  private List<Comparison> rows(RowListener listener) {
    try (ExecutorService threads = Executors.newFixedThreadPool(options.threads())) {
      List<Future<Comparison>> coming = new ArrayList<>();
      for (long seed = seeds.from(); seed <= seeds.to(); seed++) {
        long each = seed;
        coming.add(threads.submit(() -> new WorkloadRun(each, options, reference).run()));
      }
      try {
        return collect(coming, listener);
      } finally {
        threads.shutdownNow();
      }
    }
  }

  private static List<Comparison> collect(List<Future<Comparison>> coming, RowListener listener) {
    List<Comparison> rows = new ArrayList<>();
    for (Future<Comparison> each : coming) {
      try {
        Comparison row = each.get();
        rows.add(row);
        listener.row(row);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted", e);
      } catch (ExecutionException e) {
        if (e.getCause() instanceof IllegalArgumentException wrong) {
          throw wrong;
        }
        throw new IllegalStateException("workload: " + e.getCause(), e);
      }
    }
    return rows;
  }
}
