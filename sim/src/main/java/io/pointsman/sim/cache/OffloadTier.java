package io.pointsman.sim.cache;

import java.util.Locale;

/** Where blocks go that leave the device. */
public enum OffloadTier {
  /** The host's memory. */
  HOST,
  /** Local storage. */
  DISK,
  /** A pool that engines share; here each engine has its own. */
  EXTERNAL;

  /** The name as it is written in flags. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /**
   * The tier with this label.
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
