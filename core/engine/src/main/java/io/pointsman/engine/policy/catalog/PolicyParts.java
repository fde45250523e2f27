package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.kv.KvKnowledge;

/**
 * The dependencies of policies.
 *
 * @param slots number of slots of the fleet; all worker slots are below it
 * @param kv knowledge of engines' caches from KV events
 * @param largePages for prefix indexes
 * @param acts whether requests go where the policy sends them; false for a shadow of another policy
 * @param memory learned state that a new policy of the same place takes over
 */
public record PolicyParts(
    Ticker ticker,
    RandomSource random,
    int slots,
    PolicySettings settings,
    KvKnowledge kv,
    LargePages largePages,
    boolean acts,
    PolicyMemory memory) {
  /** Parts of a policy that acts, without large pages. */
  public PolicyParts(
      Ticker ticker, RandomSource random, int slots, PolicySettings settings, KvKnowledge kv) {
    this(ticker, random, slots, settings, kv, LargePages.NONE);
  }

  public PolicyParts {
    requireNonNull(ticker, "ticker");
    requireNonNull(random, "random");
    requireNonNull(settings, "settings");
    requireNonNull(kv, "kv");
    requireNonNull(largePages, "largePages");
    if (slots < 1) {
      throw new IllegalArgumentException("slots: " + slots + " (expected: >= 1)");
    }
  }

  /** Parts for engines without KV events. */
  public PolicyParts(Ticker ticker, RandomSource random, int slots, PolicySettings settings) {
    this(ticker, random, slots, settings, KvKnowledge.none(ticker));
  }

  /** Parts of a policy that acts. */
  public PolicyParts(
      Ticker ticker,
      RandomSource random,
      int slots,
      PolicySettings settings,
      KvKnowledge kv,
      LargePages largePages) {
    this(ticker, random, slots, settings, kv, largePages, true, PolicyMemory.NONE);
  }

  /**
   * Returns a copy for a shadow, with its own clock and cache knowledge.
   *
   * @param ofTheSamePolicy whether the shadow has the same policy as the router
   */
  public PolicyParts shadow(Ticker ticker, KvKnowledge kv, boolean ofTheSamePolicy) {
    return new PolicyParts(
        ticker, random, slots, settings, kv, largePages, ofTheSamePolicy, PolicyMemory.NONE);
  }

  /** Returns a copy with other settings. */
  public PolicyParts with(PolicySettings settings) {
    return remembering(settings, PolicyMemory.NONE);
  }

  /** Returns a copy with other settings for the policy that has {@code memory}. */
  public PolicyParts remembering(PolicySettings settings, PolicyMemory memory) {
    return new PolicyParts(ticker, random, slots, settings, kv, largePages, acts, memory);
  }
}
