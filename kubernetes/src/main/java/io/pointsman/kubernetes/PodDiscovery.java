package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
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
 * Makes workers of the pods that a label selector finds, and follows them. Pods of each role are
 * listed and watched by an informer, whose callbacks only say that something has changed; a thread
 * of its own then compares the pods with the fleet. It starts whether or not the API answers: until
 * it does there are no pods, and while it is away those that were known stay.
 */
public final class PodDiscovery implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PodDiscovery.class);

  /** First pause before the API is asked again; it doubles five times, to 8 s. */
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
   * Begins; whether the API answers shows later.
   *
   * @throws IllegalArgumentException if what is configured of the cluster cannot be used
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

  /** Takes the client over: it is closed with the discovery, also with one that does not begin. */
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

  /** Requests are not repeated by the client: the informer does that, and says why. */
  static Config config(KubernetesSettings settings) {
    ConfigBuilder config =
        new ConfigBuilder(Config.autoConfigure(null))
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
      // One that is not told of all its pods yet would let those of another role take their place.
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

  /** Whether pods cannot be watched at present. */
  boolean away() {
    return outage.away();
  }

  /** Stops following pods; the workers that it has added stay. */
  @Override
  public void close() {
    closed = true;
    changed.release();
    informers.values().forEach(SharedIndexInformer::stop);
    client.close();
  }

  /** Says that something has changed; what, is seen by looking. */
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
