package io.pointsman.config.settings;

import java.time.Duration;

/**
 * Resource limits of one source of KV events.
 *
 * @param messageBytes maximum message size, 1 KiB to 256 MiB; larger messages are skipped
 * @param batchEvents maximum number of events in a batch, at least 1; larger batches are refused
 * @param replayPatience maximum silence of a publisher during a replay, above zero; the whole
 *     replay may take ten times as long
 */
public record KvEventLimits(int messageBytes, int batchEvents, Duration replayPatience) {
  public static final KvEventLimits DEFAULTS =
      new KvEventLimits(16 << 20, 65_536, Duration.ofSeconds(5));

  /** Maximum of {@link #messageBytes}. */
  public static final int MOST_MESSAGE_BYTES = 256 << 20;

  public KvEventLimits {
    if (messageBytes < 1024 || messageBytes > MOST_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "messageBytes: " + messageBytes + " (expected: 1KiB to 256MiB)");
    }
    if (batchEvents < 1) {
      throw new IllegalArgumentException("batchEvents: " + batchEvents + " (expected: at least 1)");
    }
    if (replayPatience.isNegative() || replayPatience.isZero()) {
      throw new IllegalArgumentException(
          "replayPatience: " + replayPatience + " (expected: above zero)");
    }
  }
}
