package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Discovery of workers as pods with certain labels. An informer per role lists and watches the
 * pods. Its callbacks only signal a change; a separate thread then compares the pods with the
 * fleet. It starts even if the API does not answer; until then there are no pods. During an outage
 * the known pods stay.
 */
public final class PodDiscovery implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PodDiscovery.class);

  /** First delay before the next request to the API; it doubles five times, to 8 s. */
  private static final int FIRST_RETRY_MILLIS = 250;

  private final KubernetesClient client;
  private final Map<Role, SharedIndexInformer<Pod>> informers;
  private final PodFleet pods;
  private final ApiOutage outage;
  private final Semaphore changed = new Semaphore(0);
  private volatile boolean closed;

  private PodDiscovery(
      KubernetesClient client,
      Map<Role, SharedIndexInformer<Pod>> informers,
      PodFleet pods,
      ApiOutage outage) {
    this.client = client;
    this.informers = informers;
    this.pods = pods;
    this.outage = outage;
  }

  /**
   * Starts the discovery, without waiting for the API.
   *
   * @throws IllegalArgumentException if the configuration of the cluster is unusable
   */
  public static PodDiscovery start(KubernetesSettings settings, Fleet fleet, Ticker ticker) {
    try {
      return beginWith(
          new KubernetesClientBuilder().withConfig(config(settings)).build(),
          settings,
          fleet,
          ticker);
    } catch (KubernetesClientException e) {
      throw new IllegalArgumentException("kubernetes: " + e.getMessage(), e);
    }
  }

  /** Owns the client. It closes the client with the discovery, or if the start fails. */
  private static PodDiscovery beginWith(
      KubernetesClient client, KubernetesSettings settings, Fleet fleet, Ticker ticker) {
    try {
      PodDiscovery discovery =
          new PodDiscovery(
              client,
              informers(client, settings),
              new PodFleet(fleet, new PodWorkers(settings)),
              new ApiOutage(client.getMasterUrl().toString(), ticker));
      discovery.begin(settings);
      return discovery;
    } catch (RuntimeException e) {
      client.close();
      throw e;
    }
  }

  /** The client does not repeat requests. The informer does, and reports the reason. */
  static Config config(KubernetesSettings settings) {
    Config found = Config.autoConfigure(null);
    TokenFile token = TokenFile.of(found, Config.getKubeconfigFilenames());
    if (token != null) {
      found.setOauthTokenProvider(token);
    }
    ConfigBuilder config =
        new ConfigBuilder(found)
            .withRequestRetryBackoffLimit(0)
            .withWatchReconnectInterval(FIRST_RETRY_MILLIS);
    return settings.url().isEmpty() ? config.build() : config.withMasterUrl(settings.url()).build();
  }

  private static Map<Role, SharedIndexInformer<Pod>> informers(
      KubernetesClient client, KubernetesSettings settings) {
    Map<Role, SharedIndexInformer<Pod>> informers = new EnumMap<>(Role.class);
    for (Role role : Role.values()) {
      if (settings.finds(role)) {
        informers.put(role, informer(client, settings, settings.selector(role)));
      }
    }
    return informers;
  }

  private static SharedIndexInformer<Pod> informer(
      KubernetesClient client, KubernetesSettings settings, PodSelector selector) {
    String labels = selector.toString();
    String namespace = settings.namespace();
    return namespace.isEmpty()
        ? client.pods().inAnyNamespace().withLabelSelector(labels).runnableInformer(0)
        : client.pods().inNamespace(namespace).withLabelSelector(labels).runnableInformer(0);
  }

  private void begin(KubernetesSettings settings) {
    informers.forEach((role, informer) -> begin(role, informer, settings));
    Thread.ofVirtual().name("kubernetes-discovery").start(this::run);
  }

  private void begin(Role role, SharedIndexInformer<Pod> informer, KubernetesSettings settings) {
    log.info(
        "watching {} pods with {} in {}, API {}",
        role.name().toLowerCase(Locale.ROOT),
        settings.selector(role),
        settings.namespace().isEmpty() ? "all namespaces" : "namespace " + settings.namespace(),
        client.getMasterUrl());
    informer.addEventHandler(new Signal(changed));
    informer.exceptionHandler(
        (_, failure) -> {
          outage.failed(failure);
          return !closed;
        });
    informer.start();
  }

  private void run() {
    try {
      while (!closed) {
        if (changed.tryAcquire(1, TimeUnit.SECONDS)) {
          changed.drainPermits();
        }
        round();
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void round() {
    try {
      // Waits until all informers have all their pods. Otherwise pods of another role could take
      // the place of missing ones.
      if (all(SharedIndexInformer::hasSynced) && !closed) {
        Map<Role, List<Pod>> selected = new EnumMap<>(Role.class);
        informers.forEach((role, informer) -> selected.put(role, informer.getStore().list()));
        pods.follow(selected);
      }
      outage.look(all(SharedIndexInformer::isWatching));
    } catch (RuntimeException e) {
      log.error("cannot process the list of pods", e);
    }
  }

  private boolean all(Predicate<SharedIndexInformer<Pod>> holds) {
    return informers.values().stream().allMatch(holds);
  }

  /** True if pods cannot be watched at present. */
  boolean away() {
    return outage.away();
  }

  /** Stops the discovery. Its workers stay in the fleet. */
  @Override
  public void close() {
    closed = true;
    changed.release();
    informers.values().forEach(SharedIndexInformer::stop);
    client.close();
  }

  /** Signals a change. The discovery thread then reads the pods. */
  private record Signal(Semaphore changed) implements ResourceEventHandler<Pod> {
    @Override
    public void onAdd(Pod pod) {
      changed.release();
    }

    @Override
    public void onUpdate(Pod before, Pod after) {
      changed.release();
    }

    @Override
    public void onDelete(Pod pod, boolean finalStateUnknown) {
      changed.release();
    }
  }
}
