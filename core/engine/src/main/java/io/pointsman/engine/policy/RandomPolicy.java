package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/** The policy {@code random}: a uniformly random eligible worker. */
public final class RandomPolicy implements Policy {
  private final RandomSource random;

  public RandomPolicy(RandomSource random) {
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now, random);
  }

  /** Picks at random. Hash policies also use it for requests without a key. */
  public static @Nullable Worker pick(
      Pool pool, RoutingRequest request, long now, RandomSource random) {
    request.picked(PickResult.of(PickReason.RANDOM));
    return pool.random(now, request.tried(), random);
  }
}
