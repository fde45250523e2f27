package io.pointsman.engine.policy.cache;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Updates the prefix index with placements. Also counts the prompt tokens that each worker had to
 * compute recently.
 *
 * <p>A slot belongs to one worker at a time, from its first picker until {@link #forget}.
 * Placements on a worker that has left are ignored.
 */
public final class PrefixLearner implements Learner {
  private final PrefixIndex index;
  private final AtomicReferenceArray<@Nullable Worker> owners;
  private final RecentWork work;
  private final FirstPlacements firsts = new FirstPlacements();

  /**
   * @param now the current ticker time
   */
  public PrefixLearner(PrefixIndex index, int slots, long now) {
    this.index = index;
    owners = new AtomicReferenceArray<>(slots);
    work = new RecentWork(slots, now);
  }

  /** The index of prefixes by worker. */
  public PrefixIndex index() {
    return index;
  }

  FirstPlacements firsts() {
    return firsts;
  }

  /** Assigns each slot of the pool to its worker; called before any request is placed there. */
  public void adopt(Pool pool) {
    pool.workers().forEach(this::adopt);
  }

  /** Skips a worker that has left, because its slot may already belong to another. */
  private void adopt(Worker worker) {
    int slot = worker.slot();
    Worker before = owners.get(slot);
    while (before != worker && !worker.left()) {
      if (owners.compareAndSet(slot, before, worker)) {
        if (before != null) {
          index.forget(slot);
        }
        return;
      }
      before = owners.get(slot);
    }
  }

  RecentWork work() {
    return work;
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    Worker worker = lease.worker();
    int uncached = lease.promptTokens() - lease.cachedTokens();
    work.add(worker.slot(), uncached, lease.placedAt());
    int epoch = index.epoch(worker.slot());
    if (owners.getAcquire(worker.slot()) == worker) {
      int known = request.result().matchedBlocks();
      index.add(request.prefix(), epoch, known, lease.placedAt());
    }
  }

  /** Ignored: a computed prompt stays in the worker's cache, independent of the outcome. */
  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {}

  @Override
  public void forget(Worker worker) {
    if (owners.compareAndSet(worker.slot(), worker, null)) {
      index.forget(worker.slot());
      work.forget(worker.slot());
    }
  }
}
