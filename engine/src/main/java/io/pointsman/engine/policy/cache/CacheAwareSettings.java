package io.pointsman.engine.policy.cache;

/**
 * The knobs of {@code cache_aware}; names and defaults are those of vllm-router.
 *
 * @param cacheThreshold share of the prompt, 0 to 1, above which a known prefix decides; at 0 any
 *     match does, at 1 none
 * @param balanceAbsThreshold difference between the highest and the lowest number of requests in
 *     flight above which loads may count as unequal; at least 0
 * @param balanceRelThreshold loads are unequal only if the highest is also more than this many
 *     times the lowest; at least 1
 * @param maxIndexBytes most memory of the prefix index, in bytes; at least 64 KiB. Too little of it
 *     forgets prefixes before the engines do.
 */
public record CacheAwareSettings(
    double cacheThreshold,
    int balanceAbsThreshold,
    double balanceRelThreshold,
    long maxIndexBytes) {

  public static final CacheAwareSettings DEFAULTS = new CacheAwareSettings(0.3, 64, 1.5, 64L << 20);

  public CacheAwareSettings {
    if (!(cacheThreshold >= 0 && cacheThreshold <= 1)) {
      throw new IllegalArgumentException(
          "cacheThreshold: " + cacheThreshold + " (expected: 0 to 1)");
    }
    if (balanceAbsThreshold < 0) {
      throw new IllegalArgumentException(
          "balanceAbsThreshold: " + balanceAbsThreshold + " (expected: >= 0)");
    }
    if (!(balanceRelThreshold >= 1 && balanceRelThreshold < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "balanceRelThreshold: " + balanceRelThreshold + " (expected: >= 1)");
    }
    if (maxIndexBytes < 64 << 10) {
      throw new IllegalArgumentException(
          "maxIndexBytes: " + maxIndexBytes + " (expected: >= 65536)");
    }
  }
}
