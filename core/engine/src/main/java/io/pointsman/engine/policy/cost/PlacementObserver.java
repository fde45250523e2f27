package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.PlacedPrompt;

/** Receives placements and their results, for reports. The policy works without it. Any thread. */
@FunctionalInterface
public interface PlacementObserver {
  /** Ignores all placements. */
  PlacementObserver NONE = (_, _, _, _, _) -> (_, _, _) -> {};

  /**
   * Called before the models add a prompt, under the worker model's lock.
   *
   * @param scale the scale of the request's key
   * @param cached blocks of the scale that the chosen worker has
   * @return receives the result of the request
   */
  Placed placing(
      RoutingRequest request, BlockScale scale, int cached, WorkerModel chosen, long now);

  /** Receives the result of one placement. */
  @FunctionalInterface
  interface Placed {
    /** Called when the request has ended successfully. */
    void succeeded(PlacedPrompt prompt, Usage usage, RoutingRequest request);
  }
}
