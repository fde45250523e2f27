package io.pointsman.tool.bench.split;

import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.http.SimConnectionOptions;

/**
 * Requests and engines of {@code bench pd-delay}.
 *
 * @param rounds measured rounds; each asks every way once
 * @param warmup rounds before the measured ones
 * @param prompt prompt tokens
 * @param answer output tokens
 * @param prefillRate prompt tokens per second
 * @param stepMillis time between two output tokens, in milliseconds
 * @param decodeWait delay before a decode engine starts a request, in milliseconds
 */
record DelayOptions(
    int rounds,
    int warmup,
    int prompt,
    int answer,
    double prefillRate,
    double stepMillis,
    long decodeWait) {
  /**
   * Rejects values that give no results.
   *
   * @throws IllegalArgumentException if a value is too small
   */
  DelayOptions {
    check("rounds", rounds, 1);
    check("warmup", warmup, 0);
    // Short prompts, which are not split, have an eighth of this length.
    check("prompt", prompt, 256);
    check("answer", answer, 2);
    check("decode-wait", decodeWait, 0);
  }

  private static void check(String name, long value, long least) {
    if (value < least) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: at least " + least + ")");
    }
  }

  int shortPrompt() {
    return prompt / 8;
  }

  /**
   * Configuration of the engines. Idle connections stay open, because the other ways may take long.
   */
  SimConfig engine() {
    SimConnectionOptions common = SimConnectionOptions.DEFAULT;
    return SimConfig.DEFAULT
        .withLinearLatency(prefillRate, stepMillis)
        .withConnections(new SimConnectionOptions(0, common.gzip(), common.maxBodyBytes()));
  }
}
