package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Pool;

/**
 * A strategy for choosing workers. After a fleet change the engine requests a new picker for each
 * pool (model and role) with changed members. State that must survive the change, for example an
 * index or a session table, is passed to the policy's constructor. Calls are serialised.
 */
@FunctionalInterface
public interface Policy {
  /** Returns a picker over the workers of {@code pool}. */
  Picker picker(Pool pool);
}
