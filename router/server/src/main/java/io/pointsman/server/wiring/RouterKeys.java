package io.pointsman.server.wiring;

import io.pointsman.api.keys.FileKeys;
import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
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
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The keys that callers of the router need, from a file, a variable and servers.
 *
 * @param callers check of clients
 * @param ring keys of the file and the variable
 * @param watch the watch of the file; null if there is no file
 */
record RouterKeys(CallerCheck callers, KeyRing ring, @Nullable Rounds watch)
    implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(RouterKeys.class);

  /** Pause between two looks at the file. */
  private static final Duration PAUSE = Duration.ofSeconds(1);

  /**
   * Reads the keys, and watches their file.
   *
   * @param variables environment variables by name
   * @param servers makes the check by servers
   * @param before the keys that these replace; a role that they guard stays guarded
   * @throws IllegalArgumentException if the file or the variable cannot be used
   */
  static RouterKeys open(
      PointsmanConfig config,
      Function<String, @Nullable String> variables,
      Supplier<CallerCheck> servers,
      KeyRing before) {
    AuthSettings auth = config.auth();
    boolean byServers = !auth.validationUrls().isEmpty();
    if (!auth.ownKeys()) {
      return new RouterKeys(byServers ? servers.get() : CallerCheck.NONE, KeyRing.NONE, null);
    }
    CallerCheck others = byServers ? servers.get() : CallerCheck.NOBODY;
    FileKeys keys = own(auth, variables, others);
    keys.guardAs(before);
    Rounds watch =
        auth.keysFile().isEmpty() ? null : Rounds.start("keys-file", PAUSE, keys::refresh);
    return new RouterKeys(keys, keys, watch);
  }

  /** Ends the watch of the file. The keys stay valid for requests in progress. */
  @Override
  public void close() {
    if (watch != null) {
      watch.close();
    }
  }

  private static FileKeys own(
      AuthSettings auth, Function<String, @Nullable String> variables, CallerCheck others) {
    String name = auth.keysEnv();
    List<StoredKey> constant;
    try {
      constant = name.isEmpty() ? List.of() : KeyFile.ofVariable(name, variables.apply(name));
    } catch (ConfigException e) {
      throw new IllegalArgumentException("auth.keys-env: " + e.getMessage(), e);
    }
    Path file = auth.keysFile().isEmpty() ? null : Path.of(auth.keysFile());
    try {
      return new FileKeys(file, constant, others, InstantSource.system());
    } catch (ConfigException e) {
      String sources = constant.isEmpty() ? "auth.keys-file" : "auth.keys-file and auth.keys-env";
      throw new IllegalArgumentException(sources + ": " + e.getMessage(), e);
    }
  }

  /**
   * The check of calls to the admin paths.
   *
   * @param clientHost address of the client port
   */
  AdminGuard guard(AccessSettings access, String clientHost) {
    boolean reachable = !AccessSettings.isLocal(access.host()) || access.onClientPort();
    boolean closed = !ring.equals(KeyRing.NONE) && reachable && !access.insecure();
    if (closed && access.adminKey().isEmpty() && !ring.guards(KeyRole.ADMIN)) {
      log.warn(
          "auth.keys-file, auth.keys-env: no key with role admin; the admin paths refuse every"
              + " call");
    }
    AdminGuard guard =
        new AdminGuard(
            access.names(), access.adminKey(), access.planeKey(), ring, closed, access.mutualTls());
    boolean onListener = !access.insecure() || AccessSettings.isLocal(access.host());
    boolean onClientPort = !access.insecure() || AccessSettings.isLocal(clientHost);
    return guard.onlyNear(onListener, onClientPort);
  }
}
