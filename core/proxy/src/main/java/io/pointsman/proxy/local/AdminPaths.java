package io.pointsman.proxy.local;

import static java.util.Objects.requireNonNull;

/**
 * The paths for administrators and for proxies that ask for decisions. They are on the admin
 * listener.
 *
 * @param routes the endpoints of the admin listener
 * @param onClientPort those of them that the client port serves too
 * @param closed paths that the client port refuses
 * @param guard check of the calls
 */
public record AdminPaths(
    LocalRoutes routes, LocalRoutes onClientPort, ClosedPaths closed, AdminGuard guard) {
  /** No admin paths; the client port refuses nothing. */
  public static final AdminPaths NONE =
      new AdminPaths(LocalRoutes.NONE, LocalRoutes.NONE, ClosedPaths.NONE, AdminGuard.OPEN);

  public AdminPaths {
    requireNonNull(routes, "routes");
    requireNonNull(onClientPort, "onClientPort");
    requireNonNull(closed, "closed");
    requireNonNull(guard, "guard");
  }
}
