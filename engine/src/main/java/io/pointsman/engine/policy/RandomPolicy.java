package io.pointsman.engine.policy;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/** {@code random}: any eligible worker, each with the same chance. */
public final class RandomPolicy implements Policy {
  private final Dice dice;

  public RandomPolicy(Dice dice) {
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    return (request, now) -> pick(pool, request, now, dice);
  }

  /** Also what policies by key do with a request that has no key. */
  public static @Nullable Worker pick(Pool pool, RoutingRequest request, long now, Dice dice) {
    request.notes().because(PickReason.RANDOM);
    return pool.random(now, request.tried(), dice);
  }
}
