package io.pointsman.server.wiring;

import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.kubernetes.PodDiscovery;

/**
 * Starts pod discovery. Separate from the router's assembly; a router without Kubernetes then loads
 * none of its classes.
 */
final class Discovery {
  private Discovery() {}

  /**
   * Starts discovery.
   *
   * @throws IllegalArgumentException if the cluster's configuration is invalid
   */
  static AutoCloseable start(KubernetesSettings settings, Fleet fleet, Ticker ticker) {
    return PodDiscovery.start(settings, fleet, ticker);
  }
}
