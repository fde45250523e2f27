package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code round_robin}: the workers take requests one after the other.
 *
 * <p>Each request takes a ticket, and a ticket stands for one worker. If that worker is not
 * eligible, the request takes another ticket. A dead worker's turn is thus skipped, and its
 * neighbour does not receive a double share. The others stay exactly even, also under concurrency.
 * A new picker starts at a random worker, so frequent fleet changes do not favour the first.
 */
public final class RoundRobinPolicy implements Policy {
  private final RandomSource random;

  public RoundRobinPolicy(RandomSource random) {
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    AtomicLong tickets = new AtomicLong(pool.isEmpty() ? 0 : random.roll(pool.size()));
    return (request, now) -> {
      request.picked(PickResult.of(PickReason.TURN));
      return draw(pool, tickets, request, now);
    };
  }

  private @Nullable Worker draw(Pool pool, AtomicLong tickets, RoutingRequest request, long now) {
    for (int draws = 0; draws < pool.size(); draws++) {
      int index = (int) (tickets.getAndIncrement() % pool.size());
      if (pool.loadIfEligible(index, now, request.tried()) != Pool.NOT_ELIGIBLE) {
        return pool.worker(index);
      }
    }
    // Other threads may have taken the tickets of all eligible workers.
    return pool.random(now, request.tried(), random);
  }
}
