package io.pointsman.server.cli;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The warning about a process with less memory than the parts of the router can take. */
final class MemoryNote {
  /**
   * The launcher sets this property if the limit of the process is below {@link #LEAST}: the limit
   * in MiB.
   */
  static final String PROPERTY = "pointsman.memory";

  /** The least memory in MiB: the smallest heap and direct memory, code, classes and indexes. */
  static final int LEAST = 384;

  private MemoryNote() {}

  /**
   * The warning; empty if there is enough memory.
   *
   * @param limit value of the property; null: enough
   */
  static Optional<String> of(@Nullable String limit) {
    return Optional.ofNullable(limit)
        .map(
            memory ->
                "memory: "
                    + memory
                    + " MiB for this process (expected: "
                    + LEAST
                    + " or more); the kernel may end the router under load. Raise the memory limit"
                    + " of the container or unit, or POINTSMAN_MEMORY");
  }
}
