package io.pointsman.tool.replay.run;

/**
 * The time span in which an engine was present.
 *
 * @param engine its number, as in {@code --change}; one that returns has a separate presence
 * @param joined seconds from the beginning
 * @param left seconds from the beginning; infinite if it stayed
 */
public record Presence(int engine, double joined, double left) {
  /** Seconds of a time span in which it was present. */
  double within(double from, double to) {
    return Math.max(0, Math.min(to, left) - Math.max(from, joined));
  }

  /** Returns true if it neither failed nor joined later. */
  public boolean throughout() {
    return joined == 0 && left == Double.POSITIVE_INFINITY;
  }
}
