package io.pointsman.engine.policy.cache;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the prefix index up with what is placed where, and counts the prompt tokens that a worker
 * had to compute itself of late.
 *
 * <p>A slot belongs to one worker at a time, from the first picker built over it until it is
 * forgotten. What is placed by a thread that still sees a worker that has left teaches nothing.
 */
public final class PrefixLearner implements Learner {
  private final PrefixIndex index;
  private final AtomicReferenceArray<@Nullable Worker> owners;
  private final RecentWork work;
  private final FirstPlacements firsts = new FirstPlacements();

  /**
   * @param now the present time
   */
  public PrefixLearner(PrefixIndex index, int maxWorkers, long now) {
    this.index = index;
    owners = new AtomicReferenceArray<>(maxWorkers);
    work = new RecentWork(maxWorkers, now);
  }

  /** Who was given which prefix. */
  public PrefixIndex index() {
    return index;
  }

  FirstPlacements firsts() {
    return firsts;
  }

  /** Hands each slot of the pool to its worker; called before any request is placed there. */
  public void adopt(Pool pool) {
    pool.workers().forEach(this::adopt);
  }

  /** A slot whose worker has left may be another's, who may have it already. */
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
  public void placed(RoutingRequest request, Lease lease) {
    Worker worker = lease.worker();
    int uncached = lease.promptTokens() - lease.cachedTokens();
    work.add(worker.slot(), uncached, lease.placedAt());
    int tenancy = index.tenancy(worker.slot());
    if (owners.getAcquire(worker.slot()) == worker) {
      int known = request.notes().matchedBlocks();
      index.add(request.prefix(), tenancy, known, lease.placedAt());
    }
  }

  /** A prompt that was computed stays in the worker's cache, however the request ended. */
  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {}

  @Override
  public void forget(Worker worker) {
    if (owners.compareAndSet(worker.slot(), worker, null)) {
      index.forget(worker.slot());
      work.forget(worker.slot());
    }
  }
}
