package io.pointsman.engine.policy.tier;

import static java.util.Objects.requireNonNull;

/**
 * The router's location and the weight of locality.
 *
 * @param node name of the router's machine, as in the workers' labels; empty to ignore it
 * @param zone name of the router's zone; empty to ignore it
 * @param maxLoadGap maximum excess of requests in flight of the nearest tier's least loaded worker
 *     over a farther tier's; beyond it, the farther tier is used. 0: only if the nearest tier is
 *     full. A small gap causes traffic across zones for small gains. A large gap, or 0 without
 *     limits on workers, lets near workers queue.
 */
public record LocalitySettings(String node, String zone, int maxLoadGap) {
  public static final LocalitySettings OFF = new LocalitySettings("", "", 0);

  public LocalitySettings {
    requireNonNull(node, "node");
    requireNonNull(zone, "zone");
    if (maxLoadGap < 0) {
      throw new IllegalArgumentException("maxLoadGap: " + maxLoadGap + " (expected: >= 0)");
    }
  }

  public boolean enabled() {
    return !node.isEmpty() || !zone.isEmpty();
  }
}
