package io.pointsman.engine.kv;

/**
 * Values of cached blocks outside device memory, relative to a block on the device, each 0 to 1. 1
 * means that loading is free; 0 ignores the tier.
 *
 * @param host in the host's memory
 * @param external in a pool used by several engines
 * @param disk on local storage
 */
public record KvCredits(double host, double external, double disk) {
  public static final KvCredits DEFAULTS = new KvCredits(0.8, 0.6, 0.3);

  public KvCredits {
    requireShare("host", host);
    requireShare("external", external);
    requireShare("disk", disk);
  }

  /** The credit of a tier. */
  public double of(KvTier tier) {
    return switch (tier) {
      case DEVICE -> 1;
      case HOST -> host;
      case DISK -> disk;
      case EXTERNAL -> external;
    };
  }

  private static void requireShare(String name, double value) {
    if (!(value >= 0 && value <= 1)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: 0 to 1)");
    }
  }
}
