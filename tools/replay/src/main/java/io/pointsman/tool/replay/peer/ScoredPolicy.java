package io.pointsman.tool.replay.peer;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.tool.replay.run.FleetView;
import io.pointsman.tool.replay.run.ReplayedRequest;
import org.jspecify.annotations.Nullable;

/** Chooses the eligible engine with the lowest cost; ties are broken at random, or by order. */
final class ScoredPolicy implements Policy {
  private final FleetView view;
  private final Scorer scorer;
  private final RandomSource random;
  private final boolean firstOfEquals;

  ScoredPolicy(FleetView view, Scorer scorer, RandomSource random, boolean firstOfEquals) {
    this.view = view;
    this.scorer = scorer;
    this.random = random;
    this.firstOfEquals = firstOfEquals;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    request.picked(PickResult.of(PickReason.LEAST_COST));
    ReplayedRequest exchange = view.exchange();
    Worker chosen = null;
    double least = 0;
    int ties = 0;
    for (Worker worker : pool.workers()) {
      if (!request.admits(worker, now)) {
        continue;
      }
      double cost = scorer.cost(view.engine(worker), exchange);
      if (chosen == null || cost < least) {
        chosen = worker;
        least = cost;
        ties = 1;
      } else if (cost == least && !firstOfEquals && random.roll(++ties) == 0) {
        chosen = worker;
      }
    }
    return chosen;
  }
}
