package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.kv.KvKnowledge;

/**
 * What policies are made of.
 *
 * @param maxWorkers as in {@code FleetSettings}: every worker's slot lies below it
 * @param kv what is known of engines' caches by their announcements
 * @param largePages for prefix indexes
 */
public record PolicyParts(
    Ticker ticker,
    Dice dice,
    int maxWorkers,
    PolicySettings settings,
    KvKnowledge kv,
    LargePages largePages) {
  /** Parts without large pages. */
  public PolicyParts(
      Ticker ticker, Dice dice, int maxWorkers, PolicySettings settings, KvKnowledge kv) {
    this(ticker, dice, maxWorkers, settings, kv, LargePages.NONE);
  }

  public PolicyParts {
    requireNonNull(ticker, "ticker");
    requireNonNull(dice, "dice");
    requireNonNull(settings, "settings");
    requireNonNull(kv, "kv");
    requireNonNull(largePages, "largePages");
    if (maxWorkers < 1) {
      throw new IllegalArgumentException("maxWorkers: " + maxWorkers + " (expected: >= 1)");
    }
  }

  /** For engines that announce nothing. */
  public PolicyParts(Ticker ticker, Dice dice, int maxWorkers, PolicySettings settings) {
    this(ticker, dice, maxWorkers, settings, KvKnowledge.none(ticker));
  }

  /** The same by another clock and with other knowledge of caches. */
  public PolicyParts with(Ticker ticker, KvKnowledge kv) {
    return new PolicyParts(ticker, dice, maxWorkers, settings, kv, largePages);
  }

  /** The same with other knobs. */
  public PolicyParts with(PolicySettings settings) {
    return new PolicyParts(ticker, dice, maxWorkers, settings, kv, largePages);
  }
}
