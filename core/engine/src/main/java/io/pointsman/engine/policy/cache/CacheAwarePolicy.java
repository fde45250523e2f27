package io.pointsman.engine.policy.cache;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code cache_aware}: the least loaded among the workers that hold the longest prefix,
 * if that prefix is a sufficient share of the prompt. Otherwise the least loaded worker. If loads
 * are too unequal, prefixes are ignored. The rules and their names are those of vllm-router.
 *
 * <p>One rule more: an idle worker gets the request if each holder has {@link #BUSY_HOLDER} or more
 * in flight. It holds the prefix from then on. Otherwise the holders of a prefix that all prompts
 * share get everything until the thresholds are exceeded.
 *
 * <p>A prompt without a holder goes to a worker among those with about equal load. The policy
 * chooses the worker with the fewest recent uncached prompt tokens. Requests that will follow their
 * prefix to a worker have not all arrived when the next prompt is placed. The worker's share of new
 * prompts predicts them better than its load (docs/dev/decisions/012-recent-work.md).
 */
public final class CacheAwarePolicy implements Policy {
  /** Loads below this count as equal only if they are exactly equal. */
  private static final int FEW_IN_FLIGHT = 4;

  /** Maximum number of equally loaded workers compared for a new prompt. */
  private static final int COMPARED = 16;

  /** Maximum number of workers examined for that, once one is found. */
  private static final int LOOKED_AT = 256;

  /** Requests in flight on the least loaded holder above which an idle worker is better: 6. */
  private static final int BUSY_HOLDER = 6;

  /**
   * The same if the holder has the whole prompt: 12. Several samples of a prompt share a worker.
   */
  private static final int BUSY_HOLDER_OF_ALL = 12;

  /** Bytes of text that a token id counts as. */
  private static final int BYTES_PER_TOKEN = 4;

  private final CacheAwareSettings settings;
  private final PrefixLearner learner;
  private final PrefixIndex index;
  private final RandomSource random;

  public CacheAwarePolicy(CacheAwareSettings settings, PrefixLearner learner, RandomSource random) {
    this.settings = settings;
    this.learner = learner;
    this.random = random;
    index = learner.index();
  }

  @Override
  public Picker picker(Pool pool) {
    learner.adopt(pool);
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    LoadRange loads = pool.loadRange(now, request.tried());
    if (loads == null) {
      return null;
    }
    if (unequal(loads)) {
      request.picked(PickResult.of(PickReason.LOAD_IMBALANCE));
      return pool.anyWithLoad(loads, now, request.tried(), random);
    }
    int holder = longestHolder(pool, request, loads, now);
    if (holder != Pool.ABSENT) {
      Worker idle = loads.least() == 0 ? insteadOf(holder, pool, loads, request, now) : null;
      return idle == null ? pool.worker(holder) : idle;
    }
    request.picked(PickResult.of(PickReason.PREFIX_MISS, 0));
    return forNewPrompt(pool, request, loads, now);
  }

  /** Returns an idle worker if the holder is busy; null if it is not. */
  private @Nullable Worker insteadOf(
      int holder, Pool pool, LoadRange loads, RoutingRequest request, long now) {
    boolean all = request.result().matchedBlocks() == request.prefix().count();
    int busy = all ? BUSY_HOLDER_OF_ALL : BUSY_HOLDER;
    if (pool.loadIfEligible(holder, now, request.tried()) < busy) {
      return null;
    }
    Worker idle = pool.anyWithLoad(loads, now, request.tried(), random);
    if (idle != null) {
      request.picked(PickResult.of(PickReason.LOAD_IMBALANCE));
    }
    return idle;
  }

  private boolean unequal(LoadRange loads) {
    return loads.most() - loads.least() > settings.balanceAbsThreshold()
        && loads.most() > settings.balanceRelThreshold() * loads.least();
  }

  /** Tries shorter prefixes while no eligible worker holds the longer one. */
  private int longestHolder(Pool pool, RoutingRequest request, LoadRange loads, long now) {
    PrefixBlocks prefix = request.prefix();
    int blocks = index.match(prefix);
    while (prefix.ratio(blocks) > settings.cacheThreshold() && longEnough(prefix, blocks)) {
      HolderBitmap bitmap = index.holderBitmap(prefix, blocks);
      int holder =
          bitmap == null
              ? leastLoadedOfFew(pool, blocks, request, now)
              : leastLoadedOf(bitmap, pool, request, loads, now);
      if (holder != Pool.ABSENT) {
        request.picked(PickResult.of(PickReason.PREFIX_HIT, blocks));
        return holder;
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return Pool.ABSENT;
  }

  private boolean longEnough(PrefixBlocks prefix, int blocks) {
    double length = prefix.ratio(blocks) * prefix.length();
    return (prefix.text() ? length : length * BYTES_PER_TOKEN) >= settings.minMatchLength();
  }

  private int leastLoadedOfFew(Pool pool, int blocks, RoutingRequest request, long now) {
    PrefixBlocks prefix = request.prefix();
    int chosen = Pool.ABSENT;
    int least = Pool.NOT_ELIGIBLE;
    int ties = 0;
    for (int holder = index.holder(prefix, blocks, 0);
        holder != PrefixIndex.NOBODY;
        holder = index.holder(prefix, blocks, PrefixIndex.after(holder))) {
      int i = pool.indexOfSlot(PrefixIndex.slotOf(holder));
      int load =
          i == Pool.ABSENT ? Pool.NOT_ELIGIBLE : pool.loadIfEligible(i, now, request.tried());
      if (load < least) {
        chosen = i;
        least = load;
        ties = 1;
      } else if (load == least && load != Pool.NOT_ELIGIBLE && random.roll(++ties) == 0) {
        chosen = i;
      }
    }
    return chosen;
  }

  /**
   * Starts at a random worker to spread ties, and stops at the first worker with the pool's least
   * load.
   */
  private int leastLoadedOf(
      HolderBitmap bitmap, Pool pool, RoutingRequest request, LoadRange loads, long now) {
    int chosen = Pool.ABSENT;
    int least = Pool.NOT_ELIGIBLE;
    int size = pool.size();
    int i = random.roll(size);
    for (int n = 0; n < size && least > loads.least(); n++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load < least && bitmap.holds(pool.slot(i))) {
        chosen = i;
        least = load;
      }
      i = i + 1 == size ? 0 : i + 1;
    }
    return chosen;
  }

  private @Nullable Worker forNewPrompt(
      Pool pool, RoutingRequest request, LoadRange loads, long now) {
    int size = pool.size();
    int i = size <= COMPARED ? 0 : random.roll(size);
    learner.work().turn(now);
    int equal = asGoodAs(loads.least());
    int compared = 0;
    int ties = 0;
    int chosen = Pool.ABSENT;
    long tokens = 0;
    int least = 0;
    for (int n = 0; n < size && compared < COMPARED && (n < LOOKED_AT || compared == 0); n++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load <= equal) {
        compared++;
        long others = learner.work().tokens(pool.slot(i));
        if (chosen == Pool.ABSENT || others < tokens || (others == tokens && load < least)) {
          chosen = i;
          tokens = others;
          least = load;
          ties = 1;
        } else if (others == tokens && load == least && random.roll(++ties) == 0) {
          chosen = i;
        }
      }
      i = i + 1 == size ? 0 : i + 1;
    }
    return chosen == Pool.ABSENT
        ? pool.leastLoaded(now, request.tried(), random)
        : meet(pool, request, chosen, now);
  }

  /**
   * Returns the worker that received the same prompt from another thread a moment ago, else {@code
   * chosen}.
   */
  private Worker meet(Pool pool, RoutingRequest request, int chosen, long now) {
    PrefixBlocks prefix = request.prefix();
    if (prefix.count() == 0
        || settings.cacheThreshold() >= 1
        || !longEnough(prefix, prefix.count())) {
      return pool.worker(chosen);
    }
    int slot = learner.firsts().claim(prefix.whole(), pool.slot(chosen), now);
    int first = pool.indexOfSlot(slot);
    if (first == chosen) {
      return pool.worker(chosen);
    }
    if (first == Pool.ABSENT
        || pool.loadIfEligible(first, now, request.tried()) == Pool.NOT_ELIGIBLE) {
      learner.firsts().move(prefix.whole(), pool.slot(chosen), now);
      return pool.worker(chosen);
    }
    request.picked(PickResult.of(PickReason.PREFIX_HIT, prefix.count()));
    return pool.worker(first);
  }

  /** Returns the highest load that counts as equal to the least one. */
  private int asGoodAs(int least) {
    if (least < FEW_IN_FLIGHT) {
      return least;
    }
    double balanced = Math.min(least * settings.balanceRelThreshold(), Pool.NOT_ELIGIBLE - 1);
    return (int) Math.min(balanced, (double) least + settings.balanceAbsThreshold());
  }
}
