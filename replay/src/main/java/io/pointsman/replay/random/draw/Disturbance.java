package io.pointsman.replay.random.draw;

import java.util.Locale;

/** What happens to a fleet or its load beside the arrivals. */
public enum Disturbance {
  NONE,
  /** One worker takes longer for each step. */
  SLOW,
  /** One worker is lost, and comes back with an empty cache. */
  LOST,
  /** The load doubles in the middle, and prompts begin to share other text. */
  DOUBLED,
  /** A share of the clients leaves after a time. */
  LEAVING;

  /** Its name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
