package io.pointsman.api.admin;

import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.util.List;
import java.util.Set;

/**
 * Paths that the router answers with 501 instead of sending them to engines, for example control
 * paths ({@link ControlPath}).
 */
public final class RefusedPaths {
  private static final List<String> METHODS = List.of("GET", "POST");

  private final Set<String> paths;

  public RefusedPaths(List<String> paths) {
    this.paths = Set.copyOf(paths);
  }

  /**
   * Adds a route for each path; methods other than {@code GET} and {@code POST} get status 405.
   *
   * @throws IllegalArgumentException if one of the paths already has a route
   */
  public void addTo(LocalRoutes.Builder routes) {
    for (String path : paths) {
      for (String method : METHODS) {
        routes.on(method, path, new Refusal(path));
      }
    }
  }

  private record Refusal(String path) implements LocalEndpoint {
    @Override
    public boolean takesHeadOfBody() {
      return true;
    }

    @Override
    public LocalResponse handle(LocalRequest request) {
      return Json.error(
          501,
          "server_error",
          "path_refused",
          path + " is not sent to an engine (admin.refused-paths); call the engine directly");
    }
  }
}
