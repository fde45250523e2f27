package io.pointsman.pd.execution;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * Timeouts and limits for the stages of a request to two workers.
 *
 * @param prefill maximum time from the prefill request to the end of its answer, after which
 *     another prefill worker is tried; 0 for none
 * @param decode maximum time from the decode request to the head of its answer, and from the head
 *     to the first output; 0 for none
 * @param release maximum time from a decode request that only frees blocks to the end of its answer
 * @param slotWait maximum wait for a free slot on decode and prefill workers at their limits; 0
 *     refuses immediately
 * @param maxWaiting maximum number of requests that wait for a slot; further ones are refused
 * @param maxReplyBytes maximum size in bytes of a prefill worker's answer
 * @param reuse condition for the transfer of reserved blocks to another decode worker after a
 *     failure
 */
public record StageSettings(
    Duration prefill,
    Duration decode,
    Duration release,
    Duration slotWait,
    int maxWaiting,
    int maxReplyBytes,
    Reuse reuse) {

  public static final StageSettings DEFAULTS =
      new StageSettings(
          Duration.ofSeconds(300),
          Duration.ofSeconds(600),
          Duration.ofSeconds(30),
          Duration.ofSeconds(30),
          1000,
          8 << 20,
          Reuse.SAFE);

  /** Condition for the transfer of reserved blocks to another decode worker after a failure. */
  public enum Reuse {
    /**
     * Only if the first worker certainly did not fetch them; otherwise the prompt is computed
     * again.
     */
    SAFE,
    /**
     * Also if the first worker may have fetched them, once. Saves a prefill, but relies on engines
     * to refuse freed blocks. An engine that does not may answer another prompt.
     */
    ALWAYS
  }

  public StageSettings {
    requireNonNull(reuse, "reuse");
    check("prefill", prefill);
    check("decode", decode);
    check("slotWait", slotWait);
    if (!release.isPositive()) {
      throw new IllegalArgumentException("release: " + release + " (expected: > 0)");
    }
    if (maxWaiting < 0) {
      throw new IllegalArgumentException("maxWaiting: " + maxWaiting + " (expected: >= 0)");
    }
    if (maxReplyBytes < 1024) {
      throw new IllegalArgumentException(
          "maxReplyBytes: " + maxReplyBytes + " (expected: >= 1024)");
    }
  }

  private static void check(String name, Duration value) {
    if (value.isNegative()) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
