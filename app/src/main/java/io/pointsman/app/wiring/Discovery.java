package io.pointsman.app.wiring;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.kubernetes.KubernetesSettings;
import io.pointsman.kubernetes.PodDiscovery;

/**
 * Follows a cluster's pods. Apart from the router's assembly, so that a router without Kubernetes
 * loads no class of it.
 */
final class Discovery {
  private Discovery() {}

  /**
   * Begins.
   *
   * @throws IllegalArgumentException if what is configured of the cluster cannot be used
   */
  static AutoCloseable start(KubernetesSettings settings, Fleet fleet, Ticker ticker) {
    return PodDiscovery.start(settings, fleet, ticker);
  }
}
