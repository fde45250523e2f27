package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import java.util.Collections;
import java.util.Set;

/**
 * Workers are of one kind if they serve the same models in the same role; adapters beside, which
 * come and go, make no difference to how fast they are.
 *
 * @param bases the models; empty while not known or not told
 */
record Kind(Role role, Set<String> bases) {
  static final Kind UNKNOWN = new Kind(Role.REGULAR, Set.of());

  /** As it is known at present. */
  static Kind of(Worker worker) {
    return new Kind(worker.spec().role(), worker.bases());
  }

  /**
   * Whether a worker that was of another kind, and is of this one, is taken to compute with the
   * same model as before: nothing was known of its models, or it has kept one.
   */
  boolean continues(Kind former) {
    return role == former.role
        && (bases.isEmpty()
            || former.bases.isEmpty()
            || !Collections.disjoint(bases, former.bases));
  }
}
