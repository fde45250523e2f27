package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.api.admin.ClientPaths;
import io.pointsman.api.admin.ControlApi;
import io.pointsman.api.admin.CordonApi;
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
import io.pointsman.api.decide.SplitPlaces;
import io.pointsman.api.page.OperatorPage;
import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choices;
import io.pointsman.plane.haproxy.SpoeListener;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.telemetry.PromptListener;
import java.io.IOException;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The routes that a router answers itself: for clients, and for its admin listener. */
final class RouterRoutes {
  private final RouterAssembly parts;

  RouterRoutes(RouterAssembly parts) {
    this.parts = parts;
  }

  /**
   * Builds the routes for clients that the router answers itself.
   *
   * @param keys the present holder of a key by its name; null if there is none
   */
  LocalRoutes forClients(Function<String, @Nullable KeyHolder> keys) throws IOException {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    HealthApi health = healthApi();
    parts.health = health;
    health.addTo(routes);
    if (parts.engineIds != null) {
      new StackApi(parts.engineIds, parts.version).addTo(routes);
    }
    String application = parts.config.admin().rayApplication();
    if (!application.isEmpty()) {
      new RayProxyApi(parts.fleet, application, parts.draining::get).addTo(routes);
    }
    if (parts.config.admin().mergedModels()) {
      new ModelsApi(parts.cards, parts.changes::aliases).addTo(routes);
    }
    if (parts.config.metrics().enabled() && parts.config.metrics().likeProductionStack()) {
      parts.metrics.addTo(routes);
    }
    if (parts.config.batch().enabled()) {
      BatchService batches = batches(keys);
      parts.batches = batches;
      batches.addTo(routes);
    }
    return routes.build();
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
   * The admin paths by a configuration.
   *
   * @param routes the routes of the admin listener
   * @param ofClients the routes for clients
   */
  static AdminPaths admin(
      PointsmanConfig config, RouterKeys keys, LocalRoutes routes, LocalRoutes ofClients) {
    AccessSettings access = config.access();
    List<String> refused = config.admin().refusedPaths();
    Set<String> notForClients = new HashSet<>(ofClients.paths());
    notForClients.addAll(refused);
    notForClients.add(OperatorPage.ROOT);
    return new AdminPaths(
        routes,
        access.onClientPort() ? routes.without(notForClients) : LocalRoutes.NONE,
        ClientPaths.closed(refused, routes.paths(), access.allowedPaths(), ofClients.paths()),
        keys.guard(access));
  }

  /** Builds the routes of the admin listener. */
  LocalRoutes forAdministrators(RoutingEngine engine, CallerCheck callers, PromptListener prompts)
      throws IOException {
    LocalRoutes.Builder routes = LocalRoutes.builder();
    requireNonNull(parts.health).addTo(routes);
    if (parts.config.admin().enabled()) {
      WorkersApi workers = new WorkersApi(parts.fleet, parts.membership, parts.ticker);
      workers.addTo(routes);
      new CordonApi(parts.fleet, workers, parts.ticker, Thread::sleep).addTo(routes);
      new MaintenanceApi(parts.fleet, parts.core.client::send, () -> parts.core.policies.sessions())
          .addTo(routes);
      parts.reloads.addTo(routes);
      parts.observers.addTo(routes, parts.fleet, () -> parts.config.policy(), parts::waiting);
    } else if (parts.config.decide().enabled()) {
      new WorkerList(parts.fleet).addTo(routes);
    }
    if (parts.config.decide().enabled()) {
      choiceForOthers(engine, callers, prompts, routes);
    } else {
      RayRouteApi.off(routes);
    }
    if (parts.config.metrics().enabled()) {
      parts.metrics.addTo(routes);
    }
    ControlApi.OneCall calls =
        ControlApi.calling(parts.core.client, () -> parts.config.admin().controlTimeout());
    ControlApi control =
        new ControlApi(
            parts.fleet, calls, parts.core.prober.sleeping(), parts.core.prober::modelsChanged);
    if (parts.engineIds != null) {
      control.addById(routes, parts.engineIds, Set.copyOf(parts.config.admin().refusedPaths()));
    }
    control.addTo(routes);
    return routes.build();
  }

  /** Only this method loads the classes of the store. */
  private BatchService batches(Function<String, @Nullable KeyHolder> keys) throws IOException {
    boolean keysConfirmed = !parts.config.auth().validationUrls().isEmpty();
    boolean certificates = !parts.config.proxy().listen().tls().clientCaFile().isEmpty();
    BatchService opened =
        BatchService.open(
            parts.config.batch(),
            parts.config.proxy().listen().tls().certificateFile(),
            keysConfirmed,
            keysConfirmed || certificates || parts.config.auth().ownKeys(),
            keys,
            InstantSource.system(),
            () -> UUID.randomUUID().toString().replace("-", ""),
            Thread::sleep);
    parts.control.push(opened);
    return opened;
  }

  private void choiceForOthers(
      RoutingEngine engine, CallerCheck callers, PromptListener prompts, LocalRoutes.Builder routes)
      throws IOException {
    Disaggregation two = parts.core.two;
    Choices choices = parts.core.choices(engine);
    SplitPlaces split = two == null ? null : two.places(engine, choices, parts.random);
    DecisionService planes =
        new DecisionService(
            engine,
            choices,
            () -> parts.config.affinity(),
            () -> two != null && parts.config.disagg().split().decodeServesWhole(),
            () -> parts.config.proxy().admission(),
            split,
            () -> parts.config.proxy().limits().clients().quota(),
            prompts,
            parts.ticker,
            parts.random);
    new DecideApi(planes, parts::policyOf).addTo(routes);
    new LeasesApi(planes).addTo(routes);
    RayRouteApi route = new RayRouteApi(planes).addTo(routes);
    parts.metrics.heldLeases(choices);
    if (!parts.config.decide().spoeAddress().isEmpty()) {
      SpoeListener listener =
          SpoeListener.open(parts.config.decide().spoeAddress(), route, callers);
      parts.control.push(listener);
      listener.addTo(routes);
    }
  }
}
