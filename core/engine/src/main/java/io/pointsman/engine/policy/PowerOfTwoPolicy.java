package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code power_of_two}: draws two eligible workers at random and chooses the one with
 * fewer requests in flight. It is nearly as even as {@code least_load}, at a cost independent of
 * fleet size. It avoids the herd effect towards one least loaded worker (Mitzenmacher, "The Power
 * of Two Choices in Randomized Load Balancing", 2001).
 */
public final class PowerOfTwoPolicy implements Policy {
  /** Random draws that may hit an ineligible worker before the policy counts all eligible ones. */
  private static final int QUICK_DRAWS = 4;

  private final RandomSource random;

  public PowerOfTwoPolicy(RandomSource random) {
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> {
      request.picked(PickResult.of(PickReason.LEAST_LOAD));
      return pick(pool, request.tried(), now);
    };
  }

  private @Nullable Worker pick(Pool pool, List<Worker> tried, long now) {
    int size = pool.size();
    for (int draws = 0; draws < QUICK_DRAWS && size > 1; draws++) {
      int first = random.roll(size);
      int second = other(first, random.roll(size - 1));
      int firstLoad = pool.loadIfEligible(first, now, tried);
      int secondLoad = pool.loadIfEligible(second, now, tried);
      if (firstLoad != Pool.NOT_ELIGIBLE && secondLoad != Pool.NOT_ELIGIBLE) {
        return pool.worker(firstLoad <= secondLoad ? first : second);
      }
    }
    return pickByRank(pool, tried, now);
  }

  /** Draws two ranks among the eligible workers and finds the workers with these ranks. */
  private @Nullable Worker pickByRank(Pool pool, List<Worker> tried, long now) {
    int eligible = pool.eligible(now, tried);
    if (eligible < 2) {
      return pool.random(now, tried, random);
    }
    int first = random.roll(eligible);
    int second = other(first, random.roll(eligible - 1));
    int firstAt = Pool.ABSENT;
    int secondAt = Pool.ABSENT;
    int firstLoad = Pool.NOT_ELIGIBLE;
    int secondLoad = Pool.NOT_ELIGIBLE;
    int rank = 0;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, tried);
      if (load != Pool.NOT_ELIGIBLE) {
        if (rank == first) {
          firstAt = i;
          firstLoad = load;
        } else if (rank == second) {
          secondAt = i;
          secondLoad = load;
        }
        rank++;
      }
    }
    int best = firstLoad <= secondLoad ? firstAt : secondAt;
    return best == Pool.ABSENT ? pool.random(now, tried, random) : pool.worker(best);
  }

  /** Maps a draw among all indexes but {@code first} to an index. */
  private static int other(int first, int draw) {
    return draw < first ? draw : draw + 1;
  }
}
