package io.pointsman.replay.run;

/**
 * When an engine was there.
 *
 * @param engine its number, as in {@code --change}; one that comes again has a presence of its own
 * @param joined seconds from the beginning
 * @param left the same; infinite if it stayed
 */
public record Presence(int engine, double joined, double left) {
  /** Seconds of a time span in which it was there. */
  double within(double from, double to) {
    return Math.max(0, Math.min(to, left) - Math.max(from, joined));
  }

  /** Whether it was neither lost nor came later. */
  public boolean throughout() {
    return joined == 0 && left == Double.POSITIVE_INFINITY;
  }
}
