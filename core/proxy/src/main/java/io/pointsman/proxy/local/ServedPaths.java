package io.pointsman.proxy.local;

import static java.util.Objects.requireNonNull;

/**
 * The paths that the router answers itself, by one configuration. Immutable; a change of the
 * configuration replaces it as a whole. A request keeps the paths by which its head was read.
 *
 * @param forClients endpoints for clients
 * @param admin endpoints for administrators and other proxies, with the check of their keys
 * @param pins choices of workers by clients
 */
public record ServedPaths(LocalRoutes forClients, AdminPaths admin, WorkerPins pins) {
  /** No own paths. */
  public static final ServedPaths NONE = of(AdminPaths.NONE);

  public ServedPaths {
    requireNonNull(forClients, "forClients");
    requireNonNull(admin, "admin");
    requireNonNull(pins, "pins");
  }

  /** Paths of administrators only. */
  public static ServedPaths of(AdminPaths admin) {
    return new ServedPaths(LocalRoutes.NONE, admin, WorkerPins.NONE);
  }

  /** All endpoints; those for clients precede. */
  public LocalRoutes all() {
    return forClients.and(admin.routes());
  }
}
