package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
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
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.kubernetes.DeclaredModels.Declared;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Discovery of workers as pods, Services or EndpointSlices with certain labels, and of models that
 * have no pod by Deployments and StatefulSets. An informer per role lists and watches the objects.
 * Its callbacks only signal a change; a separate thread then compares the pods with the fleet. It
 * starts even if the API does not answer; until then there are no pods. During an outage the known
 * pods stay. A discovery with other settings may continue with the workers of a closed one.
 */
public final class PodDiscovery implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PodDiscovery.class);

  /** First delay before the next request to the API; it doubles five times, to 8 s. */
  private static final int FIRST_RETRY_MILLIS = 250;

  private final KubernetesClient client;
  private final KubernetesSettings settings;
  private final Map<Role, SharedIndexInformer<Pod>> ofPods = new EnumMap<>(Role.class);
  private final Map<Role, SharedIndexInformer<Service>> ofServices = new EnumMap<>(Role.class);
  private final Map<Role, SharedIndexInformer<EndpointSlice>> ofSlices = new EnumMap<>(Role.class);
  private final KubernetesWorkloads workloads = new KubernetesWorkloads();
  private final DeclaredModels names;
  private final PodFleet pods;
  private final ApiOutage outage;
  private final ApiOutage outageOfWorkloads;
  private final Listener listener;
  private final Semaphore changed = new Semaphore(0);
  private volatile boolean closed;

  /** Guarded by this, like the following fields. */
  private boolean reportedAway;

  private Set<String> reportedModels = Set.of();
  private Map<String, String> reportedAliases = Map.of();

  /** Receives news about the cluster, on the discovery thread. */
  public interface Listener {
    /** Ignores everything. */
    Listener NONE = new Listener() {};

    /** The API cannot be used, or can be used again. */
    default void away(boolean away) {}

    /** The models that Deployments and StatefulSets name have changed. */
    default void models(Set<String> models) {}

    /** The models by alias have changed. */
    default void aliases(Map<String, String> aliases) {}
  }

  private PodDiscovery(
      KubernetesClient client,
      KubernetesSettings settings,
      PodFleet pods,
      ApiOutage outage,
      ApiOutage outageOfWorkloads,
      Listener listener) {
    this.client = client;
    this.settings = settings;
    this.pods = pods;
    this.outage = outage;
    this.outageOfWorkloads = outageOfWorkloads;
    this.listener = listener;
    names = new DeclaredModels(settings);
    Set<PodSelector> selectors = new LinkedHashSet<>();
    for (Role role : Role.values()) {
      if (settings.finds(role)) {
        PodSelector selector = settings.selector(role);
        switch (settings.find()) {
          case PODS -> ofPods.put(role, informer(client.pods(), settings, selector));
          case SERVICES -> ofServices.put(role, informer(client.services(), settings, selector));
          case ENDPOINTSLICES ->
              ofSlices.put(
                  role, informer(client.discovery().v1().endpointSlices(), settings, selector));
        }
        if (settings.expectModels() && selectors.add(selector)) {
          workloads.add(
              informer(client.apps().deployments(), settings, selector),
              informer(client.apps().statefulSets(), settings, selector));
        }
      }
    }
  }

  /**
   * A discovery that does nothing before {@link #begin}.
   *
   * @param sources the sources of the fleet's workers
   * @throws IllegalArgumentException if the configuration of the cluster is unusable
   */
  public static PodDiscovery open(
      KubernetesSettings settings,
      Fleet fleet,
      WorkerSources sources,
      Ticker ticker,
      Listener listener) {
    try {
      return openWith(
          new KubernetesClientBuilder().withConfig(config(settings)).build(),
          settings,
          new PodFleet(fleet, sources, new PodWorkers(settings)),
          ticker,
          listener);
    } catch (KubernetesClientException e) {
      throw new IllegalArgumentException("kubernetes: " + e.getMessage(), e);
    }
  }

  /** Owns the client. It closes the client with the discovery, or if this method fails. */
  private static PodDiscovery openWith(
      KubernetesClient client,
      KubernetesSettings settings,
      PodFleet pods,
      Ticker ticker,
      Listener listener) {
    try {
      String url = client.getMasterUrl().toString();
      return new PodDiscovery(
          client,
          settings,
          pods,
          new ApiOutage(
              url,
              settings.find().name().toLowerCase(Locale.ROOT),
              "the workers stay unchanged until it answers",
              ticker),
          new ApiOutage(
              url,
              "deployments and statefulsets",
              "the models without pods stay unchanged until it answers",
              ticker),
          listener);
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

  /**
   * Continues with the workers of a closed discovery. They stay until this one has listed all its
   * objects; workers that both have stay the same workers. Call it before {@link #begin}.
   */
  public synchronized PodDiscovery after(PodDiscovery before) {
    synchronized (before) {
      pods.after(before.pods);
      reportedAway = before.reportedAway;
      reportedModels = before.reportedModels;
      reportedAliases = before.reportedAliases;
    }
    return this;
  }

  /** Starts the discovery, without waiting for the API. */
  public PodDiscovery begin() {
    ofPods.forEach(this::begin);
    ofServices.forEach(this::begin);
    ofSlices.forEach(this::begin);
    workloads.informers().forEach(informer -> begin(informer, outageOfWorkloads));
    Thread.ofVirtual().name("kubernetes-discovery").start(this::run);
    return this;
  }

  private <T> void begin(Role role, SharedIndexInformer<T> informer) {
    log.info(
        "watching {} {} with {} in {}, API {}",
        role.name().toLowerCase(Locale.ROOT),
        settings.find().name().toLowerCase(Locale.ROOT),
        settings.selector(role),
        settings.namespace().isEmpty() ? "all namespaces" : "namespace " + settings.namespace(),
        client.getMasterUrl());
    begin(informer, outage);
  }

  private <T> void begin(SharedIndexInformer<T> informer, ApiOutage failures) {
    informer.addEventHandler(new Signal<>(changed));
    informer.exceptionHandler(
        (_, failure) -> {
          failures.failed(failure);
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

  private synchronized void round() {
    if (closed) {
      return;
    }
    try {
      // Waits until all informers have all their pods. Otherwise pods of another role could take
      // the place of missing ones.
      if (all(each -> each.hasSynced())) {
        pods.follow(listed(ofPods), listed(ofServices), listed(ofSlices));
        report();
      }
      outage.look(all(each -> each.isWatching()));
      if (!workloads.informers().isEmpty()) {
        outageOfWorkloads.look(workloads.informers().stream().allMatch(each -> each.isWatching()));
      }
      boolean away = outage.away() || outageOfWorkloads.away();
      if (away != reportedAway) {
        reportedAway = away;
        listener.away(away);
      }
    } catch (RuntimeException e) {
      // An informer that is stopped meanwhile fails: its reflector loses its watcher.
      if (!closed) {
        log.error("cannot process the list of pods", e);
      }
    }
  }

  /** Reports models without pods, and aliases, if they have changed. */
  private void report() {
    List<Declared> all = new ArrayList<>();
    if (workloads.informers().stream().allMatch(each -> each.hasSynced())) {
      all.addAll(workloads.declared(names));
      Set<String> models = DeclaredModels.models(all);
      if (!models.equals(reportedModels)) {
        reportedModels = models;
        log.info("models of deployments and statefulsets: {}", LogText.ofNames(models));
        listener.models(models);
      }
    }
    informers()
        .flatMap(each -> each.getStore().list().stream())
        .forEach(each -> all.add(names.of(((HasMetadata) each).getMetadata(), null)));
    Map<String, String> aliases = DeclaredModels.aliases(all);
    if (!aliases.equals(reportedAliases)) {
      reportedAliases = aliases;
      listener.aliases(aliases);
    }
  }

  private static <T> Map<Role, List<T>> listed(Map<Role, SharedIndexInformer<T>> informers) {
    Map<Role, List<T>> listed = new EnumMap<>(Role.class);
    informers.forEach((role, informer) -> listed.put(role, informer.getStore().list()));
    return listed;
  }

  private Stream<SharedIndexInformer<?>> informers() {
    return Stream.of(ofPods, ofServices, ofSlices).flatMap(each -> each.values().stream());
  }

  private boolean all(Predicate<SharedIndexInformer<?>> holds) {
    return informers().allMatch(holds);
  }

  /** True if pods cannot be watched at present. */
  boolean away() {
    return outage.away();
  }

  /** Ends the interest of a closed discovery in its workers and names. */
  public synchronized void leave() {
    pods.follow(Map.of());
    if (reportedAway) {
      listener.away(false);
    }
    if (!reportedModels.isEmpty()) {
      listener.models(Set.of());
    }
    if (!reportedAliases.isEmpty()) {
      listener.aliases(Map.of());
    }
  }

  /** Stops the discovery. Its workers stay in the fleet. */
  @Override
  public void close() {
    synchronized (this) {
      // A round in progress ends before; it changes nothing afterwards.
      closed = true;
    }
    changed.release();
    informers().forEach(SharedIndexInformer::stop);
    workloads.informers().forEach(SharedIndexInformer::stop);
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
