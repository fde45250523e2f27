package io.pointsman.engine.fleet;

import java.util.List;

/**
 * The last resort for pools without a worker that answers probes. Probes can fail while requests
 * are served: by a short timeout, a busy engine, or a fault between the router and a probe's port.
 */
public final class SilentPools {
  private SilentPools() {}

  /**
   * If no worker is healthy, lets those get requests that only their unanswered probes exclude.
   * Workers that refuse connections or answer probes with an error stay excluded.
   *
   * @param workers the workers of one pool
   * @return true if some get requests by this
   */
  public static boolean ignoreProbes(List<Worker> workers) {
    for (Worker worker : workers) {
      if (!worker.draining() && worker.health().healthy()) {
        return false;
      }
    }
    boolean some = false;
    for (Worker worker : workers) {
      some |= worker.probes().ignore();
    }
    return some;
  }
}
