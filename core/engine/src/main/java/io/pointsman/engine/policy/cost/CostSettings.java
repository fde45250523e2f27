package io.pointsman.engine.policy.cost;

/**
 * The knobs of {@code cost}. The defaults were chosen on recorded and made-up traffic, not for one
 * of them (docs/evidence/routing-quality.md).
 *
 * @param kvTokens KV memory of one engine in tokens, at least 1024. Too large a figure expects hits
 *     that have been evicted, until reports of cached tokens correct it; too small a one gives hits
 *     away.
 * @param stepTokens most prompt tokens that an engine computes in one step; at least 1
 * @param priceFloor what new work on a worker costs those who come later, as a multiple of its own
 *     time, when nobody waits; at least 0. 0 spreads siblings over idle workers, large keeps them
 *     together at the price of waiting.
 * @param tieMillis predicted costs as close as this are equal, and requests in flight decide; at
 *     least 0. Large ignores small hits, 0 follows noise.
 * @param maxBytes most memory of what is known of all caches, in bytes; at least 2 MiB. Too little
 *     forgets prefixes before the engines do.
 */
public record CostSettings(
    int kvTokens, int stepTokens, double priceFloor, double tieMillis, long maxBytes) {

  public static final CostSettings DEFAULTS = new CostSettings(400_000, 8192, 0.2, 1, 128L << 20);

  public CostSettings {
    if (kvTokens < 1024) {
      throw new IllegalArgumentException("kvTokens: " + kvTokens + " (expected: >= 1024)");
    }
    if (stepTokens < 1) {
      throw new IllegalArgumentException("stepTokens: " + stepTokens + " (expected: >= 1)");
    }
    requireFinite("priceFloor", priceFloor);
    requireFinite("tieMillis", tieMillis);
    if (maxBytes < 2 << 20) {
      throw new IllegalArgumentException("maxBytes: " + maxBytes + " (expected: >= 2097152)");
    }
  }

  /** The same for engines with {@code kvTokens} of KV memory. */
  public CostSettings withKvTokens(int kvTokens) {
    return new CostSettings(kvTokens, stepTokens, priceFloor, tieMillis, maxBytes);
  }

  /** The same with other memory. */
  public CostSettings withMaxBytes(long maxBytes) {
    return new CostSettings(kvTokens, stepTokens, priceFloor, tieMillis, maxBytes);
  }

  private static void requireFinite(String name, double value) {
    if (!(value >= 0 && value < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
