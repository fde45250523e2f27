package io.pointsman.server.wiring;

import io.pointsman.api.admin.ClientPaths;
import io.pointsman.api.admin.ControlApi;
import io.pointsman.api.admin.CordonApi;
import io.pointsman.api.admin.EngineIds;
import io.pointsman.api.admin.HealthApi;
import io.pointsman.api.admin.MaintenanceApi;
import io.pointsman.api.admin.ModelsApi;
import io.pointsman.api.admin.RayProxyApi;
import io.pointsman.api.admin.StackApi;
import io.pointsman.api.admin.WorkerList;
import io.pointsman.api.admin.WorkersApi;
import io.pointsman.api.decide.DecideApi;
import io.pointsman.api.decide.DecisionService;
import io.pointsman.api.decide.LeasesApi;
import io.pointsman.api.decide.RayRouteApi;
import io.pointsman.api.decide.SplitPlacements;
import io.pointsman.api.page.OperatorPage;
import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choices;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.telemetry.PromptListener;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The endpoints that a router answers itself, for clients and for its admin listener. Parts with
 * state are made once, at the first configuration that needs them. The tables of paths are made for
 * each configuration. One thread at a time.
 */
final class RouterRoutes {
  private final RouterAssembly parts;
  private final RoutingEngine engine;
  private final CallerKeys callers;
  private final PromptListener prompts;
  private final HealthApi health;

  /** Null before the first configuration with the endpoints of the production stack. */
  private @Nullable EngineIds engineIds;

  /** Null before the first configuration with the decision service. */
  private @Nullable DecisionEndpoints decisions;

  /**
   * @param callers check of the callers' keys
   * @param prompts receives prompts that other proxies are about to send
   */
  RouterRoutes(
      RouterAssembly parts, RoutingEngine engine, CallerKeys callers, PromptListener prompts) {
    this.parts = parts;
    this.engine = engine;
    this.callers = callers;
    this.prompts = prompts;
    health = healthApi();
  }

  /** The endpoints for health. */
  HealthApi health() {
    return health;
  }

  private HealthApi healthApi() {
    BooleanSupplier holds = () -> parts.config.proxy().deferral().withoutWorker().isPositive();
    return new HealthApi(
            parts.fleet,
            parts.membership,
            () -> parts.config.admin().healthAnswer(),
            () -> parts.config.disagg(),
            parts.draining::get,
            holds)
        .showing(parts.dynamicConfig::get);
  }

  /**
   * The paths by a configuration.
   *
   * @param keys keys of callers
   * @param batches files and batches; null without
   */
  ServedPaths by(PointsmanConfig config, RouterKeys keys, @Nullable BatchService batches) {
    LocalRoutes ofClients = forClients(config, batches);
    LocalRoutes ofAdmin = forAdministrators(config);
    return new ServedPaths(
        ofClients,
        admin(config, keys, ofAdmin, ofClients),
        config.stackEndpoints() ? engineIds() : WorkerPins.NONE);
  }

  private LocalRoutes forClients(PointsmanConfig by, @Nullable BatchService batches) {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    health.addTo(routes);
    if (by.stackEndpoints()) {
      new StackApi(engineIds(), parts.version).addTo(routes);
    }
    String application = by.admin().rayApplication();
    if (!application.isEmpty()) {
      new RayProxyApi(parts.fleet, application, parts.draining::get).addTo(routes);
    }
    if (by.admin().mergedModels()) {
      new ModelsApi(parts.cards, parts.changes::aliases).addTo(routes);
    }
    if (by.metrics().enabled() && by.metrics().likeProductionStack()) {
      parts.metrics.addTo(routes);
    }
    if (batches != null) {
      batches.addTo(routes);
    }
    return routes.build();
  }

  private AdminPaths admin(
      PointsmanConfig config, RouterKeys keys, LocalRoutes routes, LocalRoutes ofClients) {
    AccessSettings access = config.access();
    List<String> refused = config.admin().refusedPaths();
    Set<String> notForClients = new HashSet<>(ofClients.paths());
    notForClients.addAll(refused);
    notForClients.add(OperatorPage.ROOT);
    return new AdminPaths(
        routes,
        access.onClientPort() ? routes.without(notForClients) : LocalRoutes.NONE,
        ClientPaths.closed(
            refused,
            routes.paths(),
            access.allowedPaths(),
            ofClients.paths(),
            parts.core.refusals::closed),
        keys.guard(access, config.proxy().listen().host()));
  }

  private LocalRoutes forAdministrators(PointsmanConfig by) {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    health.addTo(routes);
    boolean decides = by.decide().enabled();
    if (by.admin().enabled()) {
      WorkersApi workers = new WorkersApi(parts.fleet, parts.membership, parts.ticker);
      workers.addTo(routes);
      new CordonApi(parts.fleet, workers, parts.ticker, Thread::sleep).addTo(routes);
      new MaintenanceApi(parts.fleet, parts.core.client::send, () -> parts.core.policies.sessions())
          .addTo(routes);
      parts.reloads.addTo(routes);
      parts.observers.addTo(
          routes, parts.fleet, () -> parts.config.policy(), parts::waiting, decides);
    } else if (decides) {
      new WorkerList(parts.fleet).addTo(routes);
    }
    if (decides) {
      decisions(by).addTo(routes);
      if (!by.decide().spoeAddress().isEmpty()) {
        parts.spoe.addTo(routes);
      }
    } else {
      RayRouteApi.off(routes);
    }
    if (by.metrics().enabled()) {
      parts.metrics.addTo(routes);
    }
    ControlApi.OneCall calls =
        ControlApi.calling(parts.core.client, () -> parts.config.admin().controlTimeout());
    ControlApi control =
        new ControlApi(
            parts.fleet, calls, parts.core.prober.sleeping(), parts.core.prober::modelsChanged);
    if (by.stackEndpoints()) {
      control.addById(routes, engineIds(), Set.copyOf(by.admin().refusedPaths()));
    }
    control.addTo(routes);
    return routes.build();
  }

  /** They follow the fleet from here on, also while their paths are off. */
  private EngineIds engineIds() {
    EngineIds made = engineIds;
    if (made == null) {
      made = new EngineIds(parts.fleet, InstantSource.system());
      engineIds = made;
    }
    return made;
  }

  /** The endpoints for other proxies. */
  private record DecisionEndpoints(DecideApi decide, LeasesApi leases, RayRouteApi route) {
    void addTo(LocalRoutes.Builder routes) {
      decide.addTo(routes);
      leases.addTo(routes);
      route.addTo(routes);
    }
  }

  /** Leases and limits of clients stay while the paths are off; leases then end by their time. */
  private DecisionEndpoints decisions(PointsmanConfig by) {
    DecisionEndpoints present = decisions;
    if (present != null) {
      return present;
    }
    Disaggregation two = parts.core.two;
    Choices choices = parts.core.choices(engine, by.decide().leases());
    Supplier<@Nullable SplitPlacements> split = two.placements(engine, choices, parts.random);
    DecisionService service =
        new DecisionService(
            engine,
            choices,
            () -> parts.config.affinity(),
            () -> two.enabled() && parts.config.disagg().split().decodeServesWhole(),
            () -> parts.config.proxy().admission(),
            split,
            () -> parts.config.proxy().limits().clients().quota(),
            prompts,
            parts.ticker,
            parts.random);
    parts.metrics.externalLeases(choices);
    DecisionEndpoints made =
        new DecisionEndpoints(
            new DecideApi(service, parts::policyOf),
            new LeasesApi(service),
            new RayRouteApi(service));
    parts.spoe.answerBy(made.route, callers.callers());
    decisions = made;
    return made;
  }
}
