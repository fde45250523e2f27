package io.pointsman.engine.policy.cache;

/**
 * Settings of {@code cache_aware}; names and defaults are those of vllm-router.
 *
 * @param cacheThreshold share of the prompt, 0 to 1, that a known prefix must exceed to determine
 *     the worker. At 0 any match suffices, at 1 none does.
 * @param balanceAbsThreshold difference between the highest and lowest number of requests in flight
 *     above which loads may count as unequal; at least 0
 * @param balanceRelThreshold ratio of the highest to the lowest load that must also be exceeded; at
 *     least 1
 * @param maxIndexBytes maximum memory of the prefix index in bytes; at least 64 KiB. If it is too
 *     small, the index forgets prefixes before the engines do.
 * @param minMatchLength least length of a known prefix that determines the worker, in bytes of text
 *     or four per token id; at least 0
 */
public record CacheAwareSettings(
    double cacheThreshold,
    int balanceAbsThreshold,
    double balanceRelThreshold,
    long maxIndexBytes,
    int minMatchLength) {

  public static final CacheAwareSettings DEFAULTS = new CacheAwareSettings(0.3, 64, 1.5, 64L << 20);

  /** Settings without a least length of a match. */
  public CacheAwareSettings(
      double cacheThreshold,
      int balanceAbsThreshold,
      double balanceRelThreshold,
      long maxIndexBytes) {
    this(cacheThreshold, balanceAbsThreshold, balanceRelThreshold, maxIndexBytes, 0);
  }

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
    if (minMatchLength < 0) {
      throw new IllegalArgumentException("minMatchLength: " + minMatchLength + " (expected: >= 0)");
    }
  }
}
