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

/** Runs random workloads in parallel and prints them in the order of the given seeds. */
public final class RandomReplay {
  private final SeedList seeds;
  private final RandomOptions options;
  private final ReferenceFile reference;

  private RandomReplay(SeedList seeds, RandomOptions options, ReferenceFile reference) {
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
      SeedList seeds, RandomOptions options, @Nullable Path file, boolean json, PrintWriter out)
      throws IOException {
    RandomReplay replay = new RandomReplay(seeds, options, ReferenceFile.open(file));
    if (json) {
      List<PolicyComparison> rows = replay.rows(_ -> {});
      out.println(ComparisonJson.text(rows));
    } else if (seeds.single()) {
      replay.rows(row -> out.print(ComparisonTable.details(row)));
    } else {
      out.println(ComparisonTable.HEADER);
      List<PolicyComparison> rows =
          replay.rows(
              row -> {
                out.println(ComparisonTable.row(row));
                out.flush();
              });
      out.print(ComparisonTable.summary(rows));
    }
    out.flush();
  }

  /**
   * Runs the workloads and prints the worth of each part that a policy lacks.
   *
   * @param options its first policy is the whole one, and each of the others lacks a part
   * @param file as for {@link #run}
   */
  public static void ablate(
      SeedList seeds, RandomOptions options, @Nullable Path file, boolean json, PrintWriter out)
      throws IOException {
    RandomReplay replay = new RandomReplay(seeds, options, ReferenceFile.open(file));
    List<PolicyComparison> rows = replay.rows(_ -> {});
    out.print(json ? ComparisonJson.text(rows) + System.lineSeparator() : AblationTable.text(rows));
    out.flush();
  }

  /** Receives each row in the order of seeds, as soon as it and all previous rows are known. */
  private interface RowListener {
    void row(PolicyComparison row);
  }

  private List<PolicyComparison> rows(RowListener listener) {
    try (ExecutorService threads = Executors.newFixedThreadPool(options.threads())) {
      List<Future<PolicyComparison>> coming = new ArrayList<>();
      for (long seed : seeds.seeds()) {
        coming.add(threads.submit(() -> new WorkloadRun(seed, options, reference).run()));
      }
      try {
        return collect(coming, listener);
      } finally {
        threads.shutdownNow();
      }
    }
  }

  private static List<PolicyComparison> collect(
      List<Future<PolicyComparison>> coming, RowListener listener) {
    List<PolicyComparison> rows = new ArrayList<>();
    for (Future<PolicyComparison> each : coming) {
      try {
        PolicyComparison row = each.get();
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
