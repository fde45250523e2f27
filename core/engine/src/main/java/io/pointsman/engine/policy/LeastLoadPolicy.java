package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code least_load}: the eligible worker with the fewest requests in flight. Ties are
 * broken at random, so an idle fleet fills evenly. Requests of others that the engines report count
 * too.
 */
public final class LeastLoadPolicy implements Policy {
  private final RandomSource random;

  public LeastLoadPolicy(RandomSource random) {
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now, random);
  }

  /** Picks by least load. Session policies also use it for requests without a session. */
  public static @Nullable Worker pick(
      Pool pool, RoutingRequest request, long now, RandomSource random) {
    request.picked(PickResult.of(PickReason.LEAST_LOAD));
    return pool.leastLoaded(now, request.tried(), random);
  }
}
