package io.pointsman.bench.split;

import io.pointsman.sim.SimConfig;
import io.pointsman.sim.http.ConnectionOptions;

/**
 * What is asked, and of which engines.
 *
 * @param rounds measured, each of which asks every way once
 * @param warmup rounds before them
 * @param prompt tokens
 * @param answer tokens
 * @param prefillRate tokens a second
 * @param stepMillis between two tokens of an answer
 * @param decodeWait milliseconds for which a decode engine leaves a request alone at first
 */
record DelayOptions(
    int rounds,
    int warmup,
    int prompt,
    int answer,
    double prefillRate,
    double stepMillis,
    long decodeWait) {
  /** Refuses what gives no figures. */
  DelayOptions {
    check("rounds", rounds, 1);
    check("warmup", warmup, 0);
    // Short prompts, which are not split, have an eighth of this.
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

  /** Engines that keep connections however long the other ways take. */
  SimConfig engine() {
    ConnectionOptions common = ConnectionOptions.DEFAULT;
    return SimConfig.DEFAULT
        .withLinearLatency(prefillRate, stepMillis)
        .withConnections(new ConnectionOptions(0, common.gzip(), common.maxBodyBytes()));
  }
}
