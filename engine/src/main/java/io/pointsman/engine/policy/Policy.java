package io.pointsman.engine.policy;

import io.pointsman.engine.fleet.Pool;

/**
 * A way of choosing workers. When the fleet changes, a policy is asked for a new picker for each
 * pool (model and role) whose workers are not the same as before; what must outlive the change (an
 * index, a session table) it was handed by its owner when it was made. Calls are serialised.
 */
@FunctionalInterface
public interface Policy {
  /** A picker over the workers of {@code pool}. */
  Picker picker(Pool pool);
}
