package io.pointsman.app.kvevents;

import java.time.Duration;

/**
 * Bounds of what one source may cost.
 *
 * @param messageBytes largest message, 1 KiB to 256 MiB; larger ones are passed over
 * @param batchEvents most events of a batch, at least 1; batches with more are refused
 * @param replayPatience how long a publisher may be silent during a replay, which may take ten
 *     times as long in all; above zero
 */
public record KvEventLimits(int messageBytes, int batchEvents, Duration replayPatience) {
  public static final KvEventLimits DEFAULTS =
      new KvEventLimits(16 << 20, 65_536, Duration.ofSeconds(5));

  /** The largest {@link #messageBytes}. */
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
