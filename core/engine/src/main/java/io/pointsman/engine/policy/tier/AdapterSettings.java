package io.pointsman.engine.policy.tier;

/**
 * Settings for requests for adapters, {@code base:adapter}.
 *
 * @param maxLoadGap maximum excess of requests in flight of the least loaded holder over the least
 *     loaded other worker. Beyond it, the other worker loads the adapter too. 0: only if all
 *     holders are full. A small gap loads adapters on many workers; a large gap lets requests for a
 *     popular adapter queue.
 * @param maxPerWorker adapters assumed to stay loaded on a worker, in addition to those it lists;
 *     at least 1. Beyond it, the least recently requested one is assumed to be unloaded.
 * @param maxAdapters maximum number of remembered adapters; at least 1
 */
public record AdapterSettings(int maxLoadGap, int maxPerWorker, int maxAdapters) {
  /** 16 adapters per worker is Ray's default per replica. */
  public static final AdapterSettings DEFAULTS = new AdapterSettings(8, 16, 10_000);

  public AdapterSettings {
    if (maxLoadGap < 0) {
      throw new IllegalArgumentException("maxLoadGap: " + maxLoadGap + " (expected: >= 0)");
    }
    if (maxPerWorker < 1) {
      throw new IllegalArgumentException("maxPerWorker: " + maxPerWorker + " (expected: >= 1)");
    }
    if (maxAdapters < 1) {
      throw new IllegalArgumentException("maxAdapters: " + maxAdapters + " (expected: >= 1)");
    }
  }
}
