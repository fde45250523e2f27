package io.pointsman.engine.policy;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * {@code round_robin}: one worker after the other.
 *
 * <p>Each request draws a ticket, and a ticket stands for one worker. Whoever draws the ticket of a
 * worker that is out draws again, so the turn of a dead worker is nobody's: its neighbour does not
 * get twice its share, and the others stay exactly even, also under concurrency. A new picker
 * starts anywhere, so that frequent changes of the fleet do not favour its first worker.
 */
public final class RoundRobinPolicy implements Policy {
  private final Dice dice;

  public RoundRobinPolicy(Dice dice) {
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    AtomicLong tickets = new AtomicLong(pool.isEmpty() ? 0 : dice.roll(pool.size()));
    return (request, now) -> {
      request.notes().because(PickReason.TURN);
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
    // Other threads may have drawn the tickets of all workers that are not out.
    return pool.random(now, request.tried(), dice);
  }
}
