package io.pointsman.proxy.split;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * How long each stage of a request with two workers may take, and how much of it is kept.
 *
 * @param prefill from the prefill request to the end of its answer; 0 for no bound. Another prefill
 *     worker is tried after that.
 * @param decode from the decode request to the head of its answer, and from there to what follows
 *     it first; 0 for no bound
 * @param release from a decode request that only frees blocks to the end of its answer
 * @param slotWait longest wait for a place on decode and prefill workers that are at their limits;
 *     0 refuses at once
 * @param maxWaiting most requests that wait for such a place at once; further ones are refused
 * @param maxReplyBytes largest answer of a prefill worker that is read, in bytes
 * @param reuse when a hand-over goes to another decode worker after one that failed
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

  /** When a hand-over that any decode worker may take goes to another one after a failure. */
  public enum Reuse {
    /** Only if the first one certainly did not fetch it. Else the prompt is computed anew. */
    SAFE,
    /**
     * Also if it may have, once. Saves a prefill, and trusts engines to refuse what has been freed:
     * one that does not answers from whatever prompt has those blocks now.
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
