package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/**
 * Settings of queries to engines for the token ids of prompts that came as text. Queries are sent
 * only while the router receives KV events, because token ids are useless without them.
 *
 * @param enabled true if engines are queried
 * @param share share of a worker's time that queries may take, above 0; 1: no limit, also on
 *     concurrent queries
 * @param atOnce maximum number of concurrent queries, 1 to 256
 * @param queue maximum number of queued prompts, 1 to 65,536; further ones are dropped
 * @param timeout time limit of each query, at least 1 ms
 * @param maxBytes memory for token ids in bytes, at least 1 MiB
 */
public record TokenSettings(
    boolean enabled, double share, int atOnce, int queue, Duration timeout, long maxBytes) {
  public static final double LEAST_SHARE = 1e-4;
  public static final int MOST_AT_ONCE = 256;
  public static final int LONGEST_QUEUE = 1 << 16;
  public static final long LEAST_BYTES = 1 << 20;

  public static final TokenSettings DEFAULTS =
      new TokenSettings(true, 0.01, 4, 256, Duration.ofSeconds(2), 64L << 20);

  public TokenSettings {
    requireNonNull(timeout, "timeout");
    if (!(share >= LEAST_SHARE && share <= 1)) {
      throw new IllegalArgumentException("share: " + share + " (expected: 0.0001 to 1)");
    }
    require("atOnce", atOnce, 1, MOST_AT_ONCE);
    require("queue", queue, 1, LONGEST_QUEUE);
    if (timeout.toMillis() < 1) {
      throw new IllegalArgumentException("timeout: " + timeout + " (expected: at least 1 ms)");
    }
    if (maxBytes < LEAST_BYTES) {
      throw new IllegalArgumentException(
          "maxBytes: " + maxBytes + " (expected: >= " + LEAST_BYTES + ")");
    }
  }

  private static void require(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + least + " to " + most + ")");
    }
  }
}
