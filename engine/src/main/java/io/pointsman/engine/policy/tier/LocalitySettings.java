package io.pointsman.engine.policy.tier;

import static java.util.Objects.requireNonNull;

/**
 * Where the router is, and how much nearness counts.
 *
 * @param node the machine that it runs on, as workers name theirs; empty if that does not count
 * @param zone the zone that it is in; empty if that does not count
 * @param maxLoadGap requests in flight by which the least loaded worker of the nearest tier may
 *     exceed the least loaded one further away before that tier is asked; 0 stays near until all of
 *     it is full. Small sends traffic across zones for small gains; large, or 0 without a limit on
 *     workers, lets near workers queue.
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
