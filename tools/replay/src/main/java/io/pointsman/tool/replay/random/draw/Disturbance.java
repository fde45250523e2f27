package io.pointsman.tool.replay.random.draw;

import java.util.Locale;

/** A disturbance of a fleet or its load. */
public enum Disturbance {
  NONE,
  /** One worker takes longer for each step. */
  SLOW,
  /** One worker fails, and returns with an empty cache. */
  LOST,
  /** The load doubles in the middle, and prompts have other common texts from then on. */
  DOUBLED,
  /** A share of the clients leaves after a time. */
  LEAVING;

  /** The name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
