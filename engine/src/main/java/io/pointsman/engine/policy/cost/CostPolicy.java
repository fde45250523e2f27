package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import org.jspecify.annotations.Nullable;

/**
 * {@code cost}: the worker where the request costs least: its predicted time to first token, plus a
 * price on the work that is new there, because others wait for it and what it displaces may be
 * wanted again. Predictions come from a latency model learned on line and a model of each worker's
 * cache; costs that are about equal are decided by requests in flight, then by chance. Derivation
 * and evidence: docs/routing-quality.md.
 *
 * <p>Of a fleet larger than a few hundred workers, those that hold a part of the prompt are
 * compared with as many others as {@link #COMPARED}, from a random one on: the least cost among so
 * many is as good as the least of all.
 */
public final class CostPolicy implements Policy {
  private static final int COMPARED = 128;

  private final CostSettings settings;
  private final CostLearner learner;
  private final Dice dice;

  public CostPolicy(CostSettings settings, CostLearner learner, Dice dice) {
    this.settings = settings;
    this.learner = learner;
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    WorkerModel[] models = learner.adopt(pool);
    return (request, now) -> pool.isEmpty() ? null : pick(pool, models, request, now);
  }

  private @Nullable Worker pick(Pool pool, WorkerModel[] models, RoutingRequest request, long now) {
    HeldBlocks holdings = learner.held(request, now);
    int size = pool.size();
    int first = size <= COMPARED ? 0 : dice.roll(size);
    int cheapest = Pool.ABSENT;
    double least = Double.POSITIVE_INFINITY;
    int looked = 0;
    while (looked < size && (looked < COMPARED || cheapest == Pool.ABSENT)) {
      int i = wrapped(first + looked++, size);
      double cost = cost(pool, models, i, request, holdings, now);
      if (cost < least) {
        least = cost;
        cheapest = i;
      }
    }
    int places = looked < size && holdings != null ? holdings.places() : 0;
    for (int n = 0; holdings != null && n < places; n++) {
      int i = pool.indexOfSlot(holdings.slot(n));
      double cost = cost(pool, models, i, request, holdings, now);
      if (cost < least) {
        least = cost;
        cheapest = i;
      }
    }
    if (cheapest == Pool.ABSENT) {
      return null;
    }
    int chosen = cheapest;
    int load = Pool.NOT_ELIGIBLE;
    int ties = 0;
    for (int n = 0; n < looked; n++) {
      int i = wrapped(first + n, size);
      int itsLoad = pool.loadIfEligible(i, now, request.tried());
      if (itsLoad <= load
          && cost(pool, models, i, request, holdings, now) <= least + settings.tieMillis()) {
        ties = itsLoad < load ? 1 : ties + 1;
        load = itsLoad;
        chosen = ties == 1 || dice.roll(ties) == 0 ? i : chosen;
      }
    }
    int held = held(holdings, pool, chosen);
    int known = holdings == null ? 0 : holdings.longest();
    request.notes().because(PickReason.LEAST_COST, held, Math.max(held, known));
    request.notes().predict(models[chosen].ttft(request.prefix(), held, now));
    return pool.worker(chosen);
  }

  /** Infinite for a worker that may not be chosen. */
  private static double cost(
      Pool pool,
      WorkerModel[] models,
      int i,
      RoutingRequest request,
      @Nullable HeldBlocks holdings,
      long now) {
    if (i == Pool.ABSENT || pool.loadIfEligible(i, now, request.tried()) == Pool.NOT_ELIGIBLE) {
      return Double.POSITIVE_INFINITY;
    }
    return models[i].cost(request.prefix(), held(holdings, pool, i), now);
  }

  private static int held(@Nullable HeldBlocks holdings, Pool pool, int i) {
    return holdings == null ? 0 : holdings.blocks(pool.slot(i));
  }

  private static int wrapped(int index, int size) {
    return index < size ? index : index - size;
  }
}
