package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.QueueReport;
import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code least_load}: the eligible worker with the fewest requests in flight. Ties are
 * broken at random, so an idle fleet fills evenly. If all eligible workers' engines report their
 * running and queued requests, those count instead, divided by the share of the worker.
 */
public final class LeastLoadPolicy implements Policy {
  private final RandomSource dice;

  public LeastLoadPolicy(RandomSource dice) {
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> {
      Worker reported = byReports(pool, request, now);
      return reported == null ? pick(pool, request, now, dice) : reported;
    };
  }

  /** The worker with the least reported load; null if a report is missing or too old. */
  private @Nullable Worker byReports(Pool pool, RoutingRequest request, long now) {
    Worker best = null;
    int least = Integer.MAX_VALUE;
    int ties = 0;
    for (Worker worker : pool.workers()) {
      QueueReport report = worker.queueReport();
      if (!request.admits(worker, now)) {
        continue;
      }
      if (report == null || report.stale(now)) {
        return null;
      }
      int load = (int) (report.estimate(worker.inFlight()) / worker.share(now));
      ties = load < least ? 1 : load == least ? ties + 1 : ties;
      if (load < least || (load == least && dice.roll(ties) == 0)) {
        best = worker;
        least = load;
      }
    }
    request.notes().because(PickReason.LEAST_LOAD);
    return best;
  }

  /** Picks by least load. Session policies also use it for requests without a session. */
  public static @Nullable Worker pick(
      Pool pool, RoutingRequest request, long now, RandomSource dice) {
    request.notes().because(PickReason.LEAST_LOAD);
    return pool.leastLoaded(now, request.tried(), dice);
  }
}
