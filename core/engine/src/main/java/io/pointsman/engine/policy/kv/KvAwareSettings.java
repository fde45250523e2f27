package io.pointsman.engine.policy.kv;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.kv.KvCredits;

/**
 * Settings of {@code kv_aware}, {@code load_aware} and the index of KV events. The names and
 * defaults of the first two parameters are those of vllm-router.
 *
 * @param temperature 0 chooses the lowest cost. Above 0, a worker's probability falls by a factor
 *     of e per {@code temperature} units of cost above the lowest. A unit is tokens times requests.
 *     At least 0.
 * @param credits values of blocks on tiers other than the device
 * @param maxIndexBytes maximum memory of the index of KV events in bytes, allocated as needed; at
 *     least 1 MiB. A block takes about 80 bytes. Further blocks are not recorded.
 * @param loadWeight for {@code load_aware}: cached share of the prompt that outweighs a load of
 *     twice the mean; at least 0
 */
public record KvAwareSettings(
    double temperature, KvCredits credits, long maxIndexBytes, double loadWeight) {
  public static final KvAwareSettings DEFAULTS =
      new KvAwareSettings(0, KvCredits.DEFAULTS, 256L << 20);

  /** Settings with the default {@code loadWeight}. */
  public KvAwareSettings(double temperature, KvCredits credits, long maxIndexBytes) {
    this(temperature, credits, maxIndexBytes, 1);
  }

  /** Copy with another {@code maxIndexBytes}. */
  public KvAwareSettings withMaxIndexBytes(long bytes) {
    return new KvAwareSettings(temperature, credits, bytes, loadWeight);
  }

  public KvAwareSettings {
    requireNonNull(credits, "credits");
    if (!(temperature >= 0 && temperature < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("temperature: " + temperature + " (expected: >= 0)");
    }
    if (maxIndexBytes < 1 << 20) {
      throw new IllegalArgumentException(
          "maxIndexBytes: " + maxIndexBytes + " (expected: >= 1048576)");
    }
    if (!(loadWeight >= 0 && loadWeight < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("loadWeight: " + loadWeight + " (expected: >= 0)");
    }
  }
}
