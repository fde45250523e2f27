package io.pointsman.tool.sim.cache;

import java.util.Locale;

/** The tier for blocks that leave the device. */
public enum OffloadTier {
  /** The host's memory. */
  HOST,
  /** Local storage. */
  DISK,
  /** A pool for several engines; here each engine has its own. */
  EXTERNAL;

  /** The name used in flags. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * Returns the tier with this label.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static OffloadTier of(String label) {
    for (OffloadTier each : values()) {
      if (each.label().equals(label)) {
        return each;
      }
    }
    throw new IllegalArgumentException(
        "kv-events-offload: " + label + " (expected: off, host, disk or external)");
  }
}
