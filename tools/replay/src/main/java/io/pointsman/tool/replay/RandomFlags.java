package io.pointsman.tool.replay;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The flags for random workloads. */
final class RandomFlags {
  @Option(
      names = "--reference",
      paramLabel = "FILE",
      description =
          "Random workloads: cache file for the results of all policies except the first one and"
              + " cost. Delete it after a change of these policies or of the simulator.")
  private @Nullable Path reference;

  @Option(
      names = "--threads",
      description = "Number of random workloads that run in parallel. Default: one per processor.")
  private @Nullable Integer threads;

  @Option(
      names = "--ablate",
      description =
          "Random workloads: run cost, and cost without each part in turn. Print the ratio of their"
              + " times.")
  private boolean ablate;

  @Nullable Path reference() {
    return reference;
  }

  int threads() {
    return threads == null ? Runtime.getRuntime().availableProcessors() : threads;
  }

  /** Returns true if each part of {@code cost} is to be left out in turn. */
  boolean ablate() {
    return ablate;
  }

  /**
   * Checks that no flag is given, for other traces.
   *
   * @throws IllegalArgumentException if one is given
   */
  void refuse() {
    if (reference != null || threads != null || ablate) {
      throw new IllegalArgumentException(
          "reference, threads, ablate: set (expected: only with random:SEEDS)");
    }
  }
}
