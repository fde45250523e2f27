package io.pointsman.engine.policy.hash;

/**
 * Settings of {@code ray_consistent_hash}; names and defaults are those of Ray Serve.
 *
 * @param virtualNodes points of each worker on the ring; 1 to 10,000. All routers of a fleet must
 *     use the same number.
 * @param fallbackWorkers number of workers after the owner that are tried in order; 0 to 1,000.
 *     Afterwards the least loaded worker is chosen.
 */
public record RingSettings(int virtualNodes, int fallbackWorkers) {
  public static final RingSettings DEFAULTS = new RingSettings(100, 2);

  public RingSettings {
    if (virtualNodes < 1 || virtualNodes > 10_000) {
      throw new IllegalArgumentException(
          "virtualNodes: " + virtualNodes + " (expected: 1 to 10000)");
    }
    if (fallbackWorkers < 0 || fallbackWorkers > 1000) {
      throw new IllegalArgumentException(
          "fallbackWorkers: " + fallbackWorkers + " (expected: 0 to 1000)");
    }
  }
}
