package io.pointsman.engine.policy.kv;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.kv.KvCredits;

/**
 * The knobs of {@code kv_aware}, and the memory of what engines announce; names and defaults of the
 * first are those of vllm-router.
 *
 * @param temperature 0 takes the least cost; above, a worker's chance falls by e for each so many
 *     units of cost (tokens times requests) above the least; at least 0
 * @param credits what blocks on other tiers than the device are worth
 * @param maxIndexBytes most memory of what is known of engines' caches by their announcements, in
 *     bytes; at least 1 MiB, taken as needed. A block takes about 80 bytes; those that find no room
 *     are not known.
 */
public record KvAwareSettings(double temperature, KvCredits credits, long maxIndexBytes) {
  public static final KvAwareSettings DEFAULTS =
      new KvAwareSettings(0, KvCredits.DEFAULTS, 256L << 20);

  public KvAwareSettings {
    requireNonNull(credits, "credits");
    if (!(temperature >= 0 && temperature < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("temperature: " + temperature + " (expected: >= 0)");
    }
    if (maxIndexBytes < 1 << 20) {
      throw new IllegalArgumentException(
          "maxIndexBytes: " + maxIndexBytes + " (expected: >= 1048576)");
    }
  }
}
