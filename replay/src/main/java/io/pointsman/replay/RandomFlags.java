package io.pointsman.replay;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How random workloads are run. */
final class RandomFlags {
  @Option(
      names = "--reference",
      paramLabel = "FILE",
      description =
          "Random workloads: results of the policies other than the first and cost are read from"
              + " this file and added to it. Remove it after a change of these policies or of the"
              + " simulator.")
  private @Nullable Path reference;

  @Option(
      names = "--threads",
      description = "Random workloads that run at once; if not given, one for each processor.")
  private @Nullable Integer threads;

  @Nullable Path reference() {
    return reference;
  }

  int threads() {
    return threads == null ? Runtime.getRuntime().availableProcessors() : threads;
  }

  /**
   * Checks that nothing was asked for that other traces do not have.
   *
   * @throws IllegalArgumentException if something was
   */
  void refuse() {
    if (reference != null || threads != null) {
      throw new IllegalArgumentException(
          "reference, threads: given (expected: only with random:SEED or random:FROM-TO)");
    }
  }
}
