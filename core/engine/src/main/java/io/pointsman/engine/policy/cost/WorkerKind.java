package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import java.util.Collections;
import java.util.Set;

/**
 * A kind of workers: the same base models in the same role. Adapters do not change the speed of a
 * worker, so they do not count.
 *
 * @param bases the base models; empty while they are unknown
 */
record WorkerKind(Role role, Set<String> bases) {
  /** Returns the present kind of a worker. */
  static WorkerKind of(Worker worker) {
    return new WorkerKind(worker.spec().role(), worker.bases());
  }

  /**
   * Returns true if a worker that changes from {@code former} to this kind probably computes with
   * the same model: its models were unknown, or it keeps one of them.
   */
  boolean continues(WorkerKind former) {
    return role == former.role
        && (bases.isEmpty()
            || former.bases.isEmpty()
            || !Collections.disjoint(bases, former.bases));
  }
}
