package io.pointsman.proxy.split;

import java.time.Duration;

/**
 * How long each stage of a request with two workers may take, and how much of it is kept.
 *
 * @param prefill from the prefill request to the end of its answer; 0 for no bound. Another prefill
 *     worker is tried after that.
 * @param decode from the decode request to the head of its answer; 0 for no bound
 * @param release from a decode request that only frees blocks to the end of its answer
 * @param slotWait longest wait for a place on decode and prefill workers that are at their limits;
 *     0 refuses at once
 * @param maxWaiting most requests that wait for such a place at once; further ones are refused
 * @param maxReplyBytes largest answer of a prefill worker that is read, in bytes
 */
public record StageSettings(
    Duration prefill,
    Duration decode,
    Duration release,
    Duration slotWait,
    int maxWaiting,
    int maxReplyBytes) {

  public static final StageSettings DEFAULTS =
      new StageSettings(
          Duration.ofSeconds(300),
          Duration.ofSeconds(600),
          Duration.ofSeconds(30),
          Duration.ofSeconds(30),
          1000,
          8 << 20);

  public StageSettings {
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
