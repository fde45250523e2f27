package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * Chooses a worker for each request from a fixed set. Called by many threads at once. A picker
 * takes no lock, writes no log and allocates very little.
 */
@FunctionalInterface
public interface Picker {
  /**
   * Returns the worker to serve {@code request}, which {@link RoutingRequest#admits} must accept;
   * null if there is none. Records the reason with {@link RoutingRequest#picked}.
   *
   * @param now the engine's time in nanoseconds
   */
  @Nullable Worker pick(RoutingRequest request, long now);
}
