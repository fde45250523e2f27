package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/**
 * Answers each request over a fixed set of workers. Called by many threads at once: takes no lock,
 * writes no log, allocates next to nothing.
 */
@FunctionalInterface
public interface Picker {
  /**
   * The worker to serve {@code request}, one that {@link RoutingRequest#admits} says yes to; null
   * if there is none. Leaves the reason in {@link RoutingRequest#notes}.
   *
   * @param now the engine's time in nanoseconds
   */
  @Nullable Worker pick(RoutingRequest request, long now);
}
