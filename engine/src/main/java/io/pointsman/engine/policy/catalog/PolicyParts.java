package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;

/**
 * What policies are made of.
 *
 * @param maxWorkers as in {@code FleetSettings}: every worker's slot lies below it
 */
public record PolicyParts(Ticker ticker, Dice dice, int maxWorkers, PolicySettings settings) {
  public PolicyParts {
    requireNonNull(ticker, "ticker");
    requireNonNull(dice, "dice");
    requireNonNull(settings, "settings");
    if (maxWorkers < 1) {
      throw new IllegalArgumentException("maxWorkers: " + maxWorkers + " (expected: >= 1)");
    }
  }
}
