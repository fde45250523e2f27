package io.pointsman.engine.policy.cost.report;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostEstimator;
import io.pointsman.engine.policy.cost.CostLearner;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.cost.Estimate;
import io.pointsman.engine.policy.cost.WorkerModel;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.PrefixHolders;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * Measures the placements of any policy by the models of {@code cost}: the cached part of each
 * prompt, and the time of its first token. It must receive all placements, and learns like {@code
 * cost}.
 */
public final class Yardstick implements AnswerLearner {
  /**
   * The expected result of one placement.
   *
   * @param promptTokens length of the prompt
   * @param cachedTokens the part of it that the worker has cached
   * @param ttftMillis time to the first token in milliseconds
   */
  public record Reading(int promptTokens, int cachedTokens, double ttftMillis) {}

  private final CostLearner learner;

  /**
   * @param maxWorkers all slots of workers are below it
   * @param teacher source of learned times, if the placements here are not the real ones; null to
   *     learn them here
   */
  public Yardstick(
      CostSettings settings, Ticker ticker, int maxWorkers, @Nullable Yardstick teacher) {
    learner =
        new CostLearner(settings, ticker, maxWorkers)
            .taughtBy(teacher == null ? null : teacher.learner);
  }

  /** Copies a worker's speed from {@code twin}, the same worker in {@code teacher}. */
  public void pace(Worker worker, Yardstick teacher, Worker twin) {
    WorkerModel own = learner.model(worker);
    WorkerModel known = teacher.learner.model(twin);
    if (own != null && known != null) {
      own.speed(known.speed());
    }
  }

  /** Adds workers; to be called before requests are placed on them. */
  public void adopt(Pool pool) {
    learner.adopt(pool);
  }

  /** Predicts the result of a placement; null for an unknown worker. */
  public @Nullable Reading read(RoutingRequest request, Worker worker, long now) {
    WorkerModel model = learner.model(worker);
    if (model == null) {
      return null;
    }
    PrefixBlocks prefix = BlockScale.of(request.prefix()).coarse();
    PrefixHolders holders = PrefixHolders.of(learner.index(), prefix);
    int cached = holders == null ? 0 : holders.blocks(worker.slot());
    Estimate estimate =
        new CostEstimator().about(model.kind(), prefix, now).estimate(model.state(now), cached);
    return new Reading(estimate.tokens(), estimate.tokens() - estimate.uncached(), estimate.ttft());
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    learner.placed(request, lease);
  }

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    learner.answered(request, lease, at);
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    learner.ended(request, lease, outcome);
  }

  @Override
  public void forget(Worker worker) {
    learner.forget(worker);
  }
}
