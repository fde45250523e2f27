package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
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
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Discovery of workers as pods or Services with certain labels. An informer per role lists and
 * watches them. Its callbacks only signal a change; a separate thread then compares the pods with
 * the fleet. It starts even if the API does not answer; until then there are no pods. During an
 * outage the known pods stay.
 */
public final class PodDiscovery implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PodDiscovery.class);

  /** First delay before the next request to the API; it doubles five times, to 8 s. */
  private static final int FIRST_RETRY_MILLIS = 250;

  private final KubernetesClient client;
  private final Map<Role, SharedIndexInformer<Pod>> ofPods = new EnumMap<>(Role.class);
  private final Map<Role, SharedIndexInformer<Service>> ofServices = new EnumMap<>(Role.class);
  private final PodFleet pods;
  private final ApiOutage outage;
  private final Semaphore changed = new Semaphore(0);
  private volatile boolean closed;

  private PodDiscovery(
      KubernetesClient client, KubernetesSettings settings, PodFleet pods, ApiOutage outage) {
    this.client = client;
    this.pods = pods;
    this.outage = outage;
    for (Role role : Role.values()) {
      if (settings.finds(role)) {
        PodSelector selector = settings.selector(role);
        switch (settings.find()) {
          case PODS -> ofPods.put(role, informer(client.pods(), settings, selector));
          case SERVICES -> ofServices.put(role, informer(client.services(), settings, selector));
        }
      }
    }
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
              settings,
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

  private static <T extends HasMetadata, L extends KubernetesResourceList<T>>
      SharedIndexInformer<T> informer(
          MixedOperation<T, L, ? extends Resource<T>> objects,
          KubernetesSettings settings,
          PodSelector selector) {
    String labels = selector.toString();
    String namespace = settings.namespace();
    return namespace.isEmpty()
        ? objects.inAnyNamespace().withLabelSelector(labels).runnableInformer(0)
        : objects.inNamespace(namespace).withLabelSelector(labels).runnableInformer(0);
  }

  private void begin(KubernetesSettings settings) {
    ofPods.forEach((role, informer) -> begin(role, informer, settings));
    ofServices.forEach((role, informer) -> begin(role, informer, settings));
    Thread.ofVirtual().name("kubernetes-discovery").start(this::run);
  }

  private <T> void begin(Role role, SharedIndexInformer<T> informer, KubernetesSettings settings) {
    log.info(
        "watching {} {} with {} in {}, API {}",
        role.name().toLowerCase(Locale.ROOT),
        settings.find().name().toLowerCase(Locale.ROOT),
        settings.selector(role),
        settings.namespace().isEmpty() ? "all namespaces" : "namespace " + settings.namespace(),
        client.getMasterUrl());
    informer.addEventHandler(new Signal<>(changed));
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
      if (all(each -> each.hasSynced()) && !closed) {
        pods.follow(listed(ofPods), listed(ofServices));
      }
      outage.look(all(each -> each.isWatching()));
    } catch (RuntimeException e) {
      log.error("cannot process the list of pods", e);
    }
  }

  private static <T> Map<Role, List<T>> listed(Map<Role, SharedIndexInformer<T>> informers) {
    Map<Role, List<T>> listed = new EnumMap<>(Role.class);
    informers.forEach((role, informer) -> listed.put(role, informer.getStore().list()));
    return listed;
  }

  private Stream<SharedIndexInformer<?>> informers() {
    return Stream.concat(ofPods.values().stream(), ofServices.values().stream());
  }

  private boolean all(Predicate<SharedIndexInformer<?>> holds) {
    return informers().allMatch(holds);
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
    informers().forEach(SharedIndexInformer::stop);
    client.close();
  }

  /** Signals a change. The discovery thread then reads all objects. */
  private record Signal<T>(Semaphore changed) implements ResourceEventHandler<T> {
    @Override
    public void onAdd(T object) {
      changed.release();
    }

    @Override
    public void onUpdate(T before, T after) {
      changed.release();
    }

    @Override
    public void onDelete(T object, boolean finalStateUnknown) {
      changed.release();
    }
  }
}
