package io.pointsman.engine.disagg;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.Crowd;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.jspecify.annotations.Nullable;

/**
 * Which decode workers hold which prefixes, whatever policy chooses among them: a decode worker has
 * the blocks of every prompt that it has answered. Learned when an answer is complete, because only
 * then the hand-over has certainly come to its end. Forgotten when it has been out of service: it
 * may have been started anew.
 */
public final class HeldPrefixes implements Learner {
  /** Shorter prefixes to go back to where no worker that holds a longer one may be chosen. */
  static final int STEPS = 8;

  /** Of workers with the same load the one that is found first. */
  private static final Dice FIRST = sides -> sides - 1;

  private final PrefixIndex index;

  /** By slot: the worker's outages when it was last looked at. */
  private final AtomicIntegerArray outages;

  /**
   * @param maxBytes most bytes it may take; at least 64 KiB
   * @param maxWorkers as in {@code FleetSettings}
   */
  public HeldPrefixes(long maxBytes, int maxWorkers) {
    index = new PrefixIndex(maxBytes, maxWorkers);
    outages = new AtomicIntegerArray(maxWorkers);
  }

  /**
   * A worker that holds the longest prefix, among equals the least loaded.
   *
   * @param blocks how much of the prompt it holds
   */
  record Holder(Worker worker, int blocks) {}

  /** Null if no worker that the request may go to holds any of it. */
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

  /** The longest prefix of a prompt that any worker holds, in blocks; 0 if nobody holds any. */
  int known(PrefixBlocks prefix) {
    return index.match(prefix);
  }

  /**
   * The least loaded of the workers that hold a prefix and that the request may go to, one by
   * chance among equals; null if there is none.
   *
   * @param blocks length of the prefix, a length that is indexed
   */
  @Nullable Worker leastLoaded(Pool pool, RoutingRequest request, int blocks, long now, Dice dice) {
    Crowd crowd = index.crowd(request.prefix(), blocks);
    int holder =
        crowd == null
            ? leastLoadedOfFew(pool, blocks, request, now, dice)
            : leastLoadedOf(crowd, pool, request, now, dice);
    return holder == Pool.ABSENT ? null : pool.worker(holder);
  }

  private int leastLoadedOfFew(Pool pool, int blocks, RoutingRequest request, long now, Dice dice) {
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
        chosen = dice.roll(equals) == 0 ? i : chosen;
      }
    }
    return chosen;
  }

  private int leastLoadedOf(Crowd crowd, Pool pool, RoutingRequest request, long now, Dice dice) {
    int chosen = Pool.ABSENT;
    int least = Pool.NOT_ELIGIBLE;
    int equals = 0;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      boolean may = load <= least && load != Pool.NOT_ELIGIBLE;
      if (may && crowd.holds(pool.slot(i)) && !emptied(pool.worker(i))) {
        equals = load < least ? 1 : equals + 1;
        least = load;
        chosen = dice.roll(equals) == 0 ? i : chosen;
      }
    }
    return chosen;
  }

  /**
   * Whether a worker has been out of service since it was last looked at; it holds nothing then.
   */
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
  public void placed(RoutingRequest request, Lease lease) {}

  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {
    Worker worker = lease.worker();
    emptied(worker);
    int tenancy = index.tenancy(worker.slot());
    // While it has not left, the slot was its own when the tenancy was read.
    boolean served = outcome instanceof Outcome.Succeeded(boolean computed) && computed;
    if (served && !worker.left() && request.role() == Role.DECODE) {
      index.add(request.prefix(), tenancy, 0, lease.placedAt());
    }
  }

  @Override
  public void forget(Worker worker) {
    index.forget(worker.slot());
  }

  /** To be measured. */
  public PrefixIndex index() {
    return index;
  }
}
