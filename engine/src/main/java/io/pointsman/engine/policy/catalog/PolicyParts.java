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
 * @param acts whether requests go where the policy sends them; false for a shadow of another policy
 */
public record PolicyParts(
    Ticker ticker,
    Dice dice,
    int maxWorkers,
    PolicySettings settings,
    KvKnowledge kv,
    LargePages largePages,
    boolean acts) {
  /** Parts of a policy that acts, without large pages. */
  public PolicyParts(
      Ticker ticker, Dice dice, int maxWorkers, PolicySettings settings, KvKnowledge kv) {
    this(ticker, dice, maxWorkers, settings, kv, LargePages.NONE, true);
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

  /** For a policy that acts, with large pages. */
  public PolicyParts(
      Ticker ticker,
      Dice dice,
      int maxWorkers,
      PolicySettings settings,
      KvKnowledge kv,
      LargePages largePages) {
    this(ticker, dice, maxWorkers, settings, kv, largePages, true);
  }

  /** The same for a shadow, with a clock and knowledge of caches of its own. */
  public PolicyParts shadow(Ticker ticker, KvKnowledge kv, boolean ofTheSamePolicy) {
    return new PolicyParts(ticker, dice, maxWorkers, settings, kv, largePages, ofTheSamePolicy);
  }

  /** The same with other knobs. */
  public PolicyParts with(PolicySettings settings) {
    return new PolicyParts(ticker, dice, maxWorkers, settings, kv, largePages, acts);
  }
}
