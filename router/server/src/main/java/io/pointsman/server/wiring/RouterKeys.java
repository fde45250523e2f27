package io.pointsman.server.wiring;

import io.pointsman.api.keys.FileKeys;
import io.pointsman.config.ConfigException;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.AuthSettings;
import io.pointsman.control.health.Rounds;
import io.pointsman.proxy.identity.KeyRing;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.local.AdminGuard;
import io.pointsman.proxy.local.CallerCheck;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Deque;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys that callers of the router need, from a file and from servers.
 *
 * @param callers check of clients
 * @param ring keys of the file
 */
record RouterKeys(CallerCheck callers, KeyRing ring) {
  private static final Logger log = LoggerFactory.getLogger(RouterKeys.class);

  /** Pause between two looks at the file. */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  /**
   * Reads the file of keys, and watches it.
   *
   * @param servers makes the check by servers
   * @param control receives the watch, to close
   * @throws IllegalArgumentException if the file cannot be used
   */
  static RouterKeys open(
      PointsmanConfig config, Supplier<CallerCheck> servers, Deque<AutoCloseable> control) {
    AuthSettings auth = config.auth();
    boolean byServers = !auth.validationUrls().isEmpty();
    if (auth.keysFile().isEmpty()) {
      return new RouterKeys(byServers ? servers.get() : CallerCheck.NONE, KeyRing.NONE);
    }
    CallerCheck others = byServers ? servers.get() : CallerCheck.NOBODY;
    try {
      FileKeys keys = new FileKeys(Path.of(auth.keysFile()), others, InstantSource.system());
      control.push(Rounds.start("keys-file", PAUSE, keys::refresh));
      return new RouterKeys(keys, keys);
    } catch (ConfigException e) {
      throw new IllegalArgumentException("auth.keys-file: " + e.getMessage(), e);
    }
  }

  /** The check of calls to the admin paths. */
  AdminGuard guard(AccessSettings access) {
    boolean reachable = !AccessSettings.isLocal(access.host()) || access.onClientPort();
    boolean closed = !ring.equals(KeyRing.NONE) && reachable && !access.insecure();
    if (closed && access.adminKey().isEmpty() && !ring.guards(KeyRole.ADMIN)) {
      log.warn(
          "auth.keys-file: no key with role admin, so the admin paths refuse every call until there"
              + " is one");
    }
    return new AdminGuard(access.names(), access.adminKey(), access.planeKey(), ring, closed);
  }
}
