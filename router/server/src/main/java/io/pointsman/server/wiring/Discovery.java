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
import org.jspecify.annotations.Nullable;

/**
 * Discovery of pods, with settings that may change at run time. Separate from the router's
 * assembly; a router without Kubernetes then loads none of its classes. Thread-safe.
 */
final class Discovery implements AutoCloseable {
  private final Fleet fleet;
  private final WorkerSources sources;
  private final Ticker ticker;
  private final DiscoveryTally tally;
  private final Consumer<Set<String>> expected;
  private final Consumer<Map<String, String>> aliases;

  /** The settings in use. Guarded by this, like the following field. */
  private KubernetesSettings present = KubernetesSettings.DEFAULTS;

  /** Null without discovery of pods. */
  private @Nullable PodDiscovery running;

  /**
   * Does nothing before {@link #use}.
   *
   * @param expected receives the models that may have no worker
   * @param aliases receives the models by alias
   */
  Discovery(
      Fleet fleet,
      WorkerSources sources,
      Ticker ticker,
      DiscoveryTally tally,
      Consumer<Set<String>> expected,
      Consumer<Map<String, String>> aliases) {
    this.fleet = fleet;
    this.sources = sources;
    this.ticker = ticker;
    this.tally = tally;
    this.expected = expected;
    this.aliases = aliases;
  }

  /**
   * The discovery by these settings, before it begins; null if they are those in use, or if they
   * find no pods. Changes nothing.
   *
   * @throws IllegalArgumentException if the cluster's configuration is invalid
   */
  synchronized @Nullable PodDiscovery prepared(KubernetesSettings next) {
    return next.equals(present) || !next.enabled()
        ? null
        : PodDiscovery.open(next, fleet, sources, ticker, new Reports());
  }

  /**
   * Uses these settings in place of earlier ones. The earlier workers stay until the API has listed
   * the objects of the new settings.
   *
   * @param prepared the discovery by these settings, from {@link #prepared}
   */
  synchronized void use(KubernetesSettings next, @Nullable PodDiscovery prepared) {
    if (next.equals(present)) {
      return;
    }
    present = next;
    PodDiscovery before = running;
    if (before != null) {
      before.close();
    }
    running = prepared;
    if (prepared != null) {
      PodDiscovery following = before == null ? prepared : prepared.after(before);
      following.begin();
    } else if (before != null) {
      before.leave();
    }
  }

  /**
   * Uses the settings in force before a change again.
   *
   * @throws IllegalArgumentException if the cluster's configuration has become invalid
   */
  synchronized void restore(KubernetesSettings before) {
    use(before, prepared(before));
  }

  /** Ends the discovery. The workers stay. */
  @Override
  public synchronized void close() {
    PodDiscovery last = running;
    if (last != null) {
      last.close();
    }
  }

  /** Passes on the workers that the discovery finds. */
  private final class Reports implements PodDiscovery.Listener {
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
  }
}
