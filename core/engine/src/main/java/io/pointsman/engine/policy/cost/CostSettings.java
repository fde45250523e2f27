package io.pointsman.engine.policy.cost;

import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * Settings of {@code cost}. The defaults are a compromise between recorded and synthetic traffic
 * (docs/evidence/routing-quality.md).
 *
 * @param kvTokens KV memory of one engine in tokens, at least 1024. A value too large predicts hits
 *     that were evicted, until reported cached tokens correct it. A value too small loses hits.
 * @param stepTokens maximum prompt tokens that an engine computes in one step; at least 1
 * @param priceFloor price of new work when no request waits, as a multiple of its own time; at
 *     least 0. 0 spreads similar prompts over idle workers; a large value keeps them together and
 *     lets them wait.
 * @param tieMillis predicted costs within this difference are equal, and requests in flight decide;
 *     at least 0. A large value ignores short hits; 0 follows noise.
 * @param maxBytes maximum memory of all cache models in bytes; at least 2 MiB. With too little, the
 *     models forget prefixes before the engines do.
 */
@RecordBuilder
public record CostSettings(
    int kvTokens, int stepTokens, double priceFloor, double tieMillis, long maxBytes)
    implements CostSettingsBuilder.With {

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

  private static void requireFinite(String name, double value) {
    if (!(value >= 0 && value < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
