package io.pointsman.pd.rule;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Records which decode workers hold which prompt prefixes, independent of the decode policy. A
 * decode worker holds the blocks of every prompt it has answered. The entry is added at the end of
 * the response, when the KV transfer is certainly complete. A worker's entries are removed after an
 * outage, because it may have restarted.
 */
public final class DecodeCaches implements Learner {
  /** Maximum number of prefix lengths tried, from the longest known one downwards. */
  static final int STEPS = 8;

  /** Selects the first worker found among equally loaded ones. */
  private static final RandomSource FIRST = sides -> sides - 1;

  private final PrefixIndex index;

  /** By slot: the outages of the worker at the last check. */
  private final AtomicIntegerArray outages;

  /**
   * @param maxBytes maximum memory in bytes; at least 64 KiB
   * @param slots number of slots of the fleet
   */
  public DecodeCaches(long maxBytes, int slots) {
    index = new PrefixIndex(maxBytes, slots);
    outages = new AtomicIntegerArray(slots);
  }

  /**
   * A worker that holds the longest prefix, the least loaded among several.
   *
   * @param blocks length of that prefix in blocks
   */
  record Holder(Worker worker, int blocks) {}

  /**
   * Returns a holder of the longest prefix; null if no worker available to the request holds any.
   */
  @Nullable Holder longest(Pool pool, RoutingRequest request, long now) {
    int blocks = known(request.prefix());
    for (int i = 0; i < STEPS && blocks > 0; i++) {
      Worker holder = leastLoaded(pool, request, blocks, now, FIRST);
      if (holder != null) {
        return new Holder(holder, blocks);
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return null;
  }

  /**
   * Returns the length in blocks of the longest prefix that any worker holds; 0 if there is none.
   */
  int known(PrefixBlocks prefix) {
    return index.match(prefix);
  }

  /**
   * Returns the least loaded worker available to the request that holds a prefix, random among
   * equals; null if there is none.
   *
   * @param blocks length of the prefix; must be an indexed length
   */
  @Nullable Worker leastLoaded(
      Pool pool, RoutingRequest request, int blocks, long now, RandomSource random) {
    HolderBitmap bitmap = index.holderBitmap(request.prefix(), blocks);
    int holder =
        bitmap == null
            ? leastLoadedOfFew(pool, blocks, request, now, random)
            : leastLoadedOf(bitmap, pool, request, now, random);
    return holder == Pool.ABSENT ? null : pool.worker(holder);
  }

  private int leastLoadedOfFew(
      Pool pool, int blocks, RoutingRequest request, long now, RandomSource random) {
    PrefixBlocks prefix = request.prefix();
    int chosen = Pool.ABSENT;
    int least = Pool.NOT_ELIGIBLE;
    int equals = 0;
    for (int h = index.holder(prefix, blocks, 0);
        h != PrefixIndex.NOBODY;
        h = index.holder(prefix, blocks, PrefixIndex.after(h))) {
      int i = pool.indexOfSlot(PrefixIndex.slotOf(h));
      int load =
          i == Pool.ABSENT ? Pool.NOT_ELIGIBLE : pool.loadIfEligible(i, now, request.tried());
      if (load <= least && load != Pool.NOT_ELIGIBLE && !emptied(pool.worker(i))) {
        equals = load < least ? 1 : equals + 1;
        least = load;
        chosen = random.roll(equals) == 0 ? i : chosen;
      }
    }
    return chosen;
  }

  private int leastLoadedOf(
      HolderBitmap bitmap, Pool pool, RoutingRequest request, long now, RandomSource random) {
    int chosen = Pool.ABSENT;
    int least = Pool.NOT_ELIGIBLE;
    int equals = 0;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      boolean may = load <= least && load != Pool.NOT_ELIGIBLE;
      if (may && bitmap.holds(pool.slot(i)) && !emptied(pool.worker(i))) {
        equals = load < least ? 1 : equals + 1;
        least = load;
        chosen = random.roll(equals) == 0 ? i : chosen;
      }
    }
    return chosen;
  }

  /** Returns true if the worker had an outage since the last check; it holds nothing then. */
  private boolean emptied(Worker worker) {
    return worker.health().outages() != outages.get(worker.slot()) && empty(worker);
  }

  private synchronized boolean empty(Worker worker) {
    int now = worker.health().outages();
    if (outages.get(worker.slot()) == now) {
      return false;
    }
    index.forget(worker.slot());
    outages.set(worker.slot(), now);
    return true;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {}

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    Worker worker = lease.worker();
    emptied(worker);
    int epoch = index.epoch(worker.slot());
    // The slot belonged to this worker when the epoch was read, unless it has left.
    boolean served = outcome instanceof Outcome.Succeeded(boolean computed) && computed;
    if (served && !worker.left() && request.role() == Role.DECODE) {
      index.add(request.prefix(), epoch, 0, lease.placedAt());
    }
  }

  @Override
  public void forget(Worker worker) {
    index.forget(worker.slot());
  }

  /** Exposes the index for metrics. */
  public PrefixIndex index() {
    return index;
  }
}
