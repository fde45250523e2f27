package io.pointsman.server.wiring;

import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.kubernetes.PodDiscovery;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;

/**
 * Starts pod discovery. Separate from the router's assembly; a router without Kubernetes then loads
 * none of its classes.
 */
final class Discovery {
  private Discovery() {}

  /**
   * Starts discovery.
   *
   * @param expected receives the models that may have no worker
   * @param aliases receives the models by alias
   * @throws IllegalArgumentException if the cluster's configuration is invalid
   */
  static AutoCloseable start(
      KubernetesSettings settings,
      Fleet fleet,
      WorkerSources sources,
      Ticker ticker,
      DiscoveryTally tally,
      Consumer<Set<String>> expected,
      Consumer<Map<String, String>> aliases) {
    return PodDiscovery.start(
        settings,
        fleet,
        sources,
        ticker,
        new PodDiscovery.Listener() {
          @Override
          public void away(boolean away) {
            tally.failing(WorkerSource.KUBERNETES, "kubernetes", away);
          }

          @Override
          public void models(Set<String> models) {
            expected.accept(models);
          }

          @Override
          public void aliases(Map<String, String> modelsByAlias) {
            aliases.accept(modelsByAlias);
          }
        });
  }
}
