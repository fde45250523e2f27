package io.pointsman.tool.sim.failure;

import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * A fault and the requests that it strikes.
 *
 * @param fault the fault
 * @param probability that a request is struck, 0 to 1
 * @param count maximum number of requests struck; 0: no limit
 * @param path prefix of the affected paths. Empty: every request that does work; never {@code
 *     /sim/...}, and health only if the prefix names it.
 */
@RecordBuilder
public record ScheduledFault(Fault fault, double probability, int count, String path)
    implements ScheduledFaultBuilder.With {
  /** Rejects values out of range. */
  public ScheduledFault {
    if (!(probability >= 0 && probability <= 1)) {
      throw new IllegalArgumentException("probability: " + probability + " (expected: 0 to 1)");
    }
    if (count < 0) {
      throw new IllegalArgumentException("count: " + count + " (expected: 0 or more)");
    }
  }

  /** A failure that strikes every request. */
  public static ScheduledFault always(Fault fault) {
    return new ScheduledFault(fault, 1, 0, "");
  }

  /** A failure that strikes the next {@code count} requests. */
  public static ScheduledFault times(int count, Fault fault) {
    return new ScheduledFault(fault, 1, count, "");
  }

  /** Returns a copy for paths that start with {@code prefix} only. */
  public ScheduledFault on(String prefix) {
    return new ScheduledFault(fault, probability, count, prefix);
  }
}
