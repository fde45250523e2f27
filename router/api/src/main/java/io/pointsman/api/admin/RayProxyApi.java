package io.pointsman.api.admin;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import java.util.function.BooleanSupplier;

/** Endpoints of Ray Serve's proxies: {@code GET /-/healthz} and {@code GET /-/routes}. */
public final class RayProxyApi {
  private final Fleet fleet;
  private final String application;
  private final BooleanSupplier draining;

  /**
   * @param application name of the only application; it serves all paths
   * @param draining true while the router is stopping
   */
  public RayProxyApi(Fleet fleet, String application, BooleanSupplier draining) {
    this.fleet = fleet;
    this.application = application;
    this.draining = draining;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", "/-/healthz", _ -> health());
    routes.on("GET", "/-/routes", _ -> Json.answer(200, Json.object().put("/", application)));
    routes.forAnyOrigin("/-/healthz").forAnyOrigin("/-/routes");
  }

  private LocalResponse health() {
    if (draining.getAsBoolean()) {
      return LocalResponse.text(LocalError.NOT_READY, "the router is stopping");
    }
    boolean up =
        fleet.snapshot().workers().stream()
            .anyMatch(worker -> !worker.draining() && worker.health().healthy());
    return up
        ? LocalResponse.text(200, "success")
        : LocalResponse.text(LocalError.NOT_READY, "no healthy workers available");
  }
}
