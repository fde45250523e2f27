package io.pointsman.api.admin;

import io.pointsman.api.page.OperatorPage;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.proxy.local.ClosedPaths;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.request.Endpoint;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.BiPredicate;

/** The paths that clients cannot use, from the settings. */
public final class ClientPaths {
  /** The router's own paths. Switched-off ones do not reach workers either. */
  static final List<String> OWN =
      List.of(
          "/workers",
          "/workers/",
          "/add_worker",
          "/remove_worker",
          "/list_workers",
          "/get_loads",
          "/flush_cache",
          "/finish_session",
          "/config/reload",
          "/scheduling/diagnostics",
          "/decisions",
          "/decisions/",
          "/activity",
          "/activity/",
          "/ui",
          "/ui/",
          "/shadow",
          "/v1/decide",
          "/v1/leases/",
          "/internal/route",
          // Engines serve their metrics at every path that begins so.
          "/metrics*");

  private static final String BELOW = "/*";

  /** Receiver of refusals. */
  @FunctionalInterface
  public interface RefusalListener {
    /** Ignores all. */
    RefusalListener IGNORED = (_, _, _) -> {};

    /**
     * A request for a closed path is refused.
     *
     * @param message as the client receives it
     */
    void refused(LocalRequest request, ProxyError error, String message);
  }

  private final RefusalListener refusals;

  private ClientPaths(RefusalListener refusals) {
    this.refusals = refusals;
  }

  /**
   * The paths that are never for clients. One that ends in a slash stands for those below it, one
   * that ends in {@code *} for all that begin like it.
   */
  public static List<String> unserved() {
    List<String> all = new ArrayList<>(OWN);
    ControlPath.ALL.stream()
        .map(ControlPath::path)
        .distinct()
        .filter(each -> !OWN.contains(each))
        .forEach(all::add);
    all.addAll(ControlPath.DIRECT_ONLY);
    return all;
  }

  /**
   * The closed paths. A refused path precedes an admin path, and both precede the allowed ones.
   *
   * @param refused {@code admin.refused-paths}
   * @param admin paths of the admin listener
   * @param open paths that the router serves to clients, always allowed
   * @param refusals receives each refusal
   */
  public static ClosedPaths closed(
      List<String> refused,
      Collection<String> admin,
      List<String> allowed,
      Collection<String> open,
      RefusalListener refusals) {
    return new ClientPaths(refusals).closed(refused, admin, allowed, open);
  }

  private ClosedPaths closed(
      List<String> refused,
      Collection<String> admin,
      List<String> allowed,
      Collection<String> open) {
    ClosedPaths.Builder closed = ClosedPaths.builder();
    for (String path : refused) {
      closed.close(
          path,
          new ClosedPath(
              ProxyError.PATH_REFUSED,
              path + " is not sent to an engine (admin.refused-paths); call the engine directly"));
    }
    for (String path : unserved()) {
      closed.close(path, ControlPath.DIRECT_ONLY.contains(path) ? direct(path) : ofAdmin(path));
    }
    for (String path : admin) {
      if (!open.contains(path) && !path.equals(OperatorPage.ROOT)) {
        closed.close(path, ofAdmin(path));
      }
    }
    if (!allowed.isEmpty()) {
      closed.allowOnly(
          allowed(allowed),
          new ClosedPath(ProxyError.PATH_NOT_ALLOWED, ProxyError.PATH_NOT_ALLOWED.message()));
    }
    return closed.build();
  }

  private ClosedPath direct(String path) {
    return new ClosedPath(
        ProxyError.ADMIN_PATH, path + " is not served to clients; call the engine directly");
  }

  private ClosedPath ofAdmin(String closed) {
    String path = closed.endsWith("*") ? closed.substring(0, closed.length() - 1) : closed;
    return new ClosedPath(
        ProxyError.ADMIN_PATH,
        path
            + " is not served to clients. It is on the admin listener (admin.host and admin.port),"
            + " and here only with admin.on-client-port");
  }

  private static BiPredicate<String, String> allowed(List<String> allowed) {
    boolean api = allowed.contains(AccessSettings.API);
    return (method, path) ->
        (api && (Endpoint.of(method, path) != Endpoint.TRANSPARENT || ofModels(path)))
            || allowed.stream().anyMatch(each -> matches(each, path));
  }

  private static boolean ofModels(String path) {
    return path.equals("/v1/models") || path.startsWith("/v1/models/");
  }

  private static boolean matches(String allowed, String path) {
    return allowed.endsWith(BELOW)
        ? path.startsWith(allowed.substring(0, allowed.length() - 1))
        : path.equals(allowed);
  }

  private final class ClosedPath implements LocalEndpoint {
    private final ProxyError error;
    private final String message;

    ClosedPath(ProxyError error, String message) {
      this.error = error;
      this.message = message;
    }

    @Override
    public boolean takesHeadOfBody() {
      return true;
    }

    @Override
    public LocalResponse handle(LocalRequest request) {
      refusals.refused(request, error, message);
      return Json.error(error, message);
    }
  }
}
