package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * Measures placements of whatever policy by the models of {@code cost}: how much of a prompt its
 * worker holds, and when its first token comes. Told of all placements, it learns as {@code cost}
 * does.
 */
public final class Yardstick implements AnswerLearner {
  /**
   * What is expected of one placement.
   *
   * @param promptTokens of the prompt
   * @param heldTokens how many of them its worker holds
   * @param ttftMillis until its first token
   */
  public record Reading(int promptTokens, int heldTokens, double ttftMillis) {}

  private final CostLearner learner;

  /**
   * @param maxWorkers every worker's slot lies below it
   * @param teacher from whom it takes how fast engines are, because its own placements are not
   *     those that are answered; null to learn
   */
  public Yardstick(
      CostSettings settings, Ticker ticker, int maxWorkers, @Nullable Yardstick teacher) {
    learner =
        new CostLearner(settings, ticker, maxWorkers)
            .taughtBy(teacher == null ? null : teacher.learner);
  }

  /** Takes a worker's speed over from {@code twin}, the same worker as {@code teacher} knows it. */
  public void pace(Worker worker, Yardstick teacher, Worker twin) {
    WorkerModel own = learner.model(worker);
    WorkerModel known = teacher.learner.model(twin);
    if (own != null && known != null) {
      own.speed(known.speed());
    }
  }

  /** Takes workers in; to be told before requests are placed on them. */
  public void adopt(Pool pool) {
    learner.adopt(pool);
  }

  /** What to expect of a request that is about to be placed; null for an unknown worker. */
  public @Nullable Reading read(RoutingRequest request, Worker worker, long now) {
    WorkerModel model = learner.model(worker);
    if (model == null) {
      return null;
    }
    PrefixBlocks prefix = BlockScale.of(request.prefix()).coarse();
    PrefixHolders holdings = PrefixHolders.of(learner.index(), prefix);
    int held = holdings == null ? 0 : holdings.blocks(worker.slot());
    Estimate estimate =
        new CostEstimator().about(model.kind(), prefix, now).estimate(model.state(now), held);
    return new Reading(estimate.tokens(), estimate.tokens() - estimate.uncached(), estimate.ttft());
  }

  @Override
  public void placed(RoutingRequest request, Lease lease) {
    learner.placed(request, lease);
  }

  @Override
  public void answered(RoutingRequest request, Lease lease) {
    learner.answered(request, lease);
  }

  /** The same where {@code lease} itself is not told: its first token came at {@code at}. */
  public void answered(RoutingRequest request, Lease lease, long at) {
    learner.answered(request, lease, at);
  }

  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {
    learner.ended(request, lease, outcome);
  }

  @Override
  public void forget(Worker worker) {
    learner.forget(worker);
  }
}
