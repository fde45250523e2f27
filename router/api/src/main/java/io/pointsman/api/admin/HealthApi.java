package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.ProbeState;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.RouterId;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Health endpoints of the router: {@code /livez}, {@code /readyz}, {@code /liveness}, {@code
 * /readiness}, {@code /health}. Draining workers are not counted, because they get no new requests.
 * {@code /health} also ignores workers that are still being added.
 */
public final class HealthApi {
  /** Maximum number of workers with a reason in the response of {@code /health}. */
  private static final int MOST_REASONS = 100;

  private final Fleet fleet;
  private final Membership membership;
  private final Supplier<HealthAnswer> answer;
  private final Supplier<DisaggSettings> disagg;
  private final BooleanSupplier draining;
  private final BooleanSupplier defers;
  private final Serviceability serviceability;
  private Supplier<Map<String, String>> dynamicConfig = Map::of;

  /**
   * @param answer meaning of the answer to {@code /health}; may change
   * @param disagg roles that serve requests; may change
   * @param draining true while the router is stopping
   * @param defers true if requests can wait for a worker; the router is then ready without one
   */
  public HealthApi(
      Fleet fleet,
      Membership membership,
      Supplier<HealthAnswer> answer,
      Supplier<DisaggSettings> disagg,
      BooleanSupplier draining,
      BooleanSupplier defers) {
    this.defers = defers;
    this.fleet = fleet;
    this.membership = membership;
    this.answer = answer;
    this.disagg = disagg;
    this.draining = draining;
    serviceability = new Serviceability(fleet, disagg, draining, defers);
  }

  /**
   * Shows settings that changed at run time, as the production stack does.
   *
   * @param settings current settings; empty if nothing is shown
   */
  public HealthApi showing(Supplier<Map<String, String>> settings) {
    dynamicConfig = settings;
    return this;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/liveness", _ -> LocalResponse.text(200, "OK"));
    routes.on("GET", "/readiness", request -> orBack(request, readiness()));
    routes.on("GET", "/health", request -> orBack(request, health(request.client())));
    routes.on("GET", "/livez", _ -> LocalResponse.text(200, "OK"));
    routes.on("GET", "/readyz", request -> orBack(request, ready(request.client())));
    for (String path : List.of("/liveness", "/readiness", "/health", "/livez", "/readyz")) {
      routes.forAnyOrigin(path);
    }
  }

  /**
   * The answer, with the number of routers to the nearest engine if another router asks. If no way
   * leads to an engine, that router must not use this one.
   */
  private LocalResponse orBack(LocalRequest request, LocalResponse answer) {
    String via = request.header(RouterId.VIA);
    if (via == null) {
      return answer;
    }
    int routers = routersToEngine(via);
    return routers > RouterId.MOST_ROUTERS
        ? LocalResponse.text(
            ProxyError.ROUTING_LOOP,
            "All healthy workers are routers whose requests come back here, or pass more than "
                + RouterId.MOST_ROUTERS
                + " routers")
        : answer.withHeader(RouterId.ROUTERS, String.valueOf(routers));
  }

  /**
   * Number of routers from this one to the nearest engine, with this one. Workers that sent the
   * request do not count, nor does anything behind them. A worker that does not answer probes says
   * nothing. In a circle without an engine, each router counts one more than the next, until that
   * is more than a request may pass.
   *
   * @param via value of {@link RouterId#VIA}
   */
  private int routersToEngine(String via) {
    int least = ProbeState.NO_ENGINE;
    boolean back = false;
    for (Worker worker : counted()) {
      int routers = worker.probes().routers();
      if (routers == ProbeState.NO_ENGINE || RouterId.passed(via, worker.probes().router())) {
        back |= worker.probes().answered();
      } else if (usable(worker)) {
        least = Math.min(least, routers + 1);
      }
    }
    // Without any worker, the answer alone says if this router is ready.
    return back || least < ProbeState.NO_ENGINE ? least : 1;
  }

  private List<Worker> counted() {
    return fleet.snapshot().workers().stream().filter(worker -> !worker.draining()).toList();
  }

  /** The answer to {@code GET /readiness}. */
  public LocalResponse readiness() {
    List<Worker> workers = counted();
    long healthy = workers.stream().filter(HealthApi::usable).count();
    boolean stopping = draining.getAsBoolean();
    boolean ready = (defers.getAsBoolean() || served(workers)) && !stopping;
    ObjectNode body = Json.object();
    body.put("status", ready ? "ready" : "not_ready");
    if (ready) {
      body.put("healthy_workers", healthy);
    } else {
      body.put("reason", reason(stopping, healthy));
    }
    body.put("total_workers", workers.size());
    if (disagg.get().enabled()) {
      ofRole(body, workers, Role.PREFILL);
      ofRole(body, workers, Role.DECODE);
    }
    return ready ? Json.answer(200, body) : Json.answer(LocalError.NOT_READY, body);
  }

  /**
   * True if the healthy workers can serve a request: one alone, or a prefill and a decode worker
   * together.
   */
  private boolean served(List<Worker> workers) {
    boolean prefill = healthy(workers, Role.PREFILL) > 0;
    boolean decode = healthy(workers, Role.DECODE) > 0;
    return healthy(workers, Role.REGULAR) > 0
        || (prefill && decode)
        || (decode && disagg.get().split().decodeServesWhole())
        || (prefill && disagg.get().split().prefillServesWhole());
  }

  private static String reason(boolean stopping, long healthy) {
    if (stopping) {
      return "the router is stopping";
    }
    return healthy == 0
        ? "no healthy workers available"
        : "no healthy workers for both prefill and decode";
  }

  private static void ofRole(ObjectNode body, List<Worker> workers, Role role) {
    ObjectNode counts = body.putObject(role.name().toLowerCase(Locale.ROOT));
    counts.put("healthy", healthy(workers, role));
    counts.put("total", workers.stream().filter(worker -> worker.spec().role() == role).count());
  }

  private static long healthy(List<Worker> workers, Role role) {
    return workers.stream()
        .filter(worker -> worker.spec().role() == role && usable(worker))
        .count();
  }

  /** True if the worker's health permits requests. */
  private static boolean usable(Worker worker) {
    return worker.health().healthy() || worker.probes().ignored();
  }

  /** The answer to {@code GET /readyz}: whether at least one model can be served. */
  public LocalResponse ready() {
    return serviceability.answer(_ -> true);
  }

  /** The same for a client, with the models that it may use. */
  private LocalResponse ready(ClientIdentity client) {
    return serviceability.answer(client::mayUse);
  }

  private LocalResponse health(ClientIdentity client) {
    return switch (answer.get()) {
      case LIVE -> healthOfRouter();
      case READY -> ready(client);
      case ALL -> healthOfWorkers();
    };
  }

  private LocalResponse healthOfRouter() {
    ObjectNode body = Json.object().put("status", "healthy");
    Map<String, String> settings = dynamicConfig.get();
    if (!settings.isEmpty()) {
      ObjectNode shown = body.putObject("dynamic_config");
      new TreeMap<>(settings).forEach(shown::put);
    }
    return Json.answer(200, body);
  }

  private LocalResponse healthOfWorkers() {
    if (draining.getAsBoolean()) {
      return LocalResponse.text(LocalError.NOT_READY, "The router is stopping");
    }
    List<Worker> unhealthy =
        counted().stream()
            .filter(worker -> !worker.health().healthy() && !membership.joining(worker))
            .toList();
    if (unhealthy.isEmpty()) {
      return LocalResponse.text(200, "All servers healthy");
    }
    List<String> urls =
        unhealthy.stream().map(worker -> '"' + WorkerUrls.of(worker) + '"').toList();
    StringBuilder text = new StringBuilder("Unhealthy servers: ").append(urls);
    for (Worker worker : unhealthy.subList(0, Math.min(MOST_REASONS, unhealthy.size()))) {
      text.append('\n').append(WorkerUrls.of(worker)).append(": ");
      text.append(worker.health().reason());
    }
    return LocalResponse.text(LocalError.NOT_READY, text.toString());
  }
}
