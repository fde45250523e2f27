package io.pointsman.engine.policy.tier;

/**
 * How requests for adapters, {@code base:adapter}, stay with the workers that have them loaded.
 *
 * @param maxLoadGap requests in flight by which the least loaded worker that has the adapter may
 *     exceed the least loaded one that has not before that one loads it too; 0 only when all that
 *     have it are full. Small loads adapters everywhere, large lets a hot adapter queue.
 * @param maxPerWorker adapters that a worker is taken to keep loaded, beside those that it lists;
 *     at least 1. When it is sent more, the one not asked for longest is taken to be gone.
 * @param maxAdapters most adapters remembered; at least 1
 */
public record AdapterSettings(int maxLoadGap, int maxPerWorker, int maxAdapters) {
  /** Ray's default for adapters on a replica. */
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
