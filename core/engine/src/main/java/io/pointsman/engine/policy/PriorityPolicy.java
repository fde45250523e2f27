package io.pointsman.engine.policy;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import java.util.Set;

/**
 * The policy {@code priority}: important requests go to the worker with the fewest requests in
 * flight, all others to the workers in turn. The rule is that of {@code priority} in release 0.1.13
 * of vLLM's production-stack.
 */
public final class PriorityPolicy implements Policy, ReadsRequest {
  private final PrioritySettings settings;
  private final Policy turns;
  private final Policy leastLoad;

  public PriorityPolicy(PrioritySettings settings, RandomSource random) {
    this.settings = settings;
    turns = new RoundRobinPolicy(random);
    leastLoad = new LeastLoadPolicy(random);
  }

  @Override
  public WantedFields wanted() {
    return new WantedFields(Set.of(settings.header()), Set.of(settings.field()));
  }

  @Override
  public Picker picker(Pool pool) {
    Picker important = leastLoad.picker(pool);
    Picker others = turns.picker(pool);
    return (request, now) ->
        (settings.of(request.fields()) < settings.threshold() ? important : others)
            .pick(request, now);
  }
}
