package io.pointsman.engine.disagg;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * {@code joint}: the decode worker for which the least has to be done, in prompt tokens: those that
 * it does not hold and must be sent, and {@link #TOKENS_PER_REQUEST} for each request that it has
 * in flight. So among equally loaded workers the one that holds most is chosen, and one that holds
 * nothing as soon as the others are too busy for what they hold. Where nobody holds {@link
 * #LEAST_TOKENS}, it is {@code least_load}.
 */
public final class JointPolicy implements Policy {
  /** What it is called in the configuration of decode workers. */
  public static final String NAME = "joint";

  /**
   * Prompt tokens that weigh as much as one request in flight. Sending so many (0.5 GB of an 8 B
   * model) takes 20 to 50 ms at 10 to 25 GB/s; a stream more in a batch costs an answer of 200
   * tokens about 0.5 ms a token at small loads.
   */
  static final int TOKENS_PER_REQUEST = 4096;

  /**
   * Fewer are sent in a millisecond. They do not count, so that a short beginning that all prompts
   * share does not keep requests together on an idle fleet.
   */
  static final int LEAST_TOKENS = 256;

  private final HeldPrefixes held;
  private final int maxLoadGap;
  private final Dice dice;

  /**
   * @param held to be one of the policy's learners
   * @param maxLoadGap as in {@link SplitSettings}
   */
  public JointPolicy(HeldPrefixes held, int maxLoadGap, Dice dice) {
    this.held = requireNonNull(held, "held");
    this.maxLoadGap = maxLoadGap;
    this.dice = requireNonNull(dice, "dice");
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    LoadRange loads = pool.loadRange(now, request.tried());
    if (loads == null) {
      return null;
    }
    Worker holder = holder(pool, request, loads.least(), now);
    if (holder != null) {
      return holder;
    }
    request.notes().because(PickReason.LEAST_LOAD);
    return pool.anyWithLoad(loads, now, request.tried(), dice);
  }

  /**
   * The worker that is worth its load most; null if none is worth more than the least loaded.
   *
   * @param least requests in flight of that one
   */
  private @Nullable Worker holder(Pool pool, RoutingRequest request, int least, long now) {
    PrefixBlocks prefix = request.prefix();
    int known = held.known(prefix);
    int blocks = known;
    Worker chosen = null;
    long most = 0;
    for (int i = 0; i < HeldPrefixes.STEPS && tokens(prefix, blocks) >= LEAST_TOKENS; i++) {
      Worker holder = held.leastLoaded(pool, request, blocks, now, dice);
      int gap = holder == null ? Integer.MAX_VALUE : Math.max(0, holder.inFlight() - least);
      long gain = tokens(prefix, blocks) - (long) gap * TOKENS_PER_REQUEST;
      if (gap <= maxLoadGap && gain > most) {
        chosen = holder;
        most = gain;
        request.notes().because(PickReason.PREFIX_HIT, blocks, known);
      }
      if (gap == 0) {
        break; // whoever holds less is not worth more
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return chosen;
  }

  private static long tokens(PrefixBlocks prefix, int blocks) {
    return (long) (prefix.tokens() * prefix.ratio(blocks));
  }
}
