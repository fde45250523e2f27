package io.pointsman.pd.rule;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code joint}: chooses the decode worker with the lowest cost in prompt tokens. The
 * cost is the number of tokens to transfer, plus {@link #TOKENS_PER_REQUEST} for each request in
 * flight. Among equally loaded workers it chooses the one with the longest cached prefix. If no
 * worker holds {@link #LEAST_TOKENS}, it acts as {@code least_load}.
 */
public final class JointPolicy implements Policy {
  /** The policy's name in the configuration of decode workers. */
  public static final String NAME = "joint";

  /**
   * Prompt tokens that cost the same as one request in flight. Their transfer (0.5 GB for an 8 B
   * model) takes 20 to 50 ms at 10 to 25 GB/s. One more stream in a batch costs a 200-token
   * response about 0.5 ms per token at low load.
   */
  static final int TOKENS_PER_REQUEST = 4096;

  /**
   * Minimum prefix length that counts. A shorter transfer takes less than a millisecond. The limit
   * also keeps a short prefix common to all prompts from concentrating requests on an idle fleet.
   */
  static final int LEAST_TOKENS = 256;

  private final DecodeCaches caches;
  private final int maxLoadGap;
  private final RandomSource random;

  /**
   * @param caches the prefixes; must be one of the policy's learners
   * @param maxLoadGap as in {@link SplitSettings}
   */
  public JointPolicy(DecodeCaches caches, int maxLoadGap, RandomSource random) {
    this.caches = requireNonNull(caches, "caches");
    this.maxLoadGap = maxLoadGap;
    this.random = requireNonNull(random, "random");
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
    request.picked(PickResult.of(PickReason.LEAST_LOAD));
    return pool.anyWithLoad(loads, now, request.tried(), random);
  }

  /**
   * Returns the holder with the largest gain over the least loaded worker; null if none gains.
   *
   * @param least requests in flight of the least loaded worker
   */
  private @Nullable Worker holder(Pool pool, RoutingRequest request, int least, long now) {
    PrefixBlocks prefix = request.prefix();
    int known = caches.known(prefix);
    int blocks = known;
    Worker chosen = null;
    long most = 0;
    for (int i = 0; i < DecodeCaches.STEPS && tokens(prefix, blocks) >= LEAST_TOKENS; i++) {
      Worker holder = caches.leastLoaded(pool, request, blocks, now, random);
      int gap = holder == null ? Integer.MAX_VALUE : Math.max(0, holder.load() - least);
      long gain = tokens(prefix, blocks) - (long) gap * TOKENS_PER_REQUEST;
      if (gap <= maxLoadGap && gain > most) {
        chosen = holder;
        most = gain;
        request.picked(PickResult.of(PickReason.PREFIX_HIT, blocks, known));
      }
      if (gap == 0) {
        break; // a holder of less cannot gain more
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return chosen;
  }

  private static long tokens(PrefixBlocks prefix, int blocks) {
    return (long) (prefix.tokens() * prefix.ratio(blocks));
  }
}
