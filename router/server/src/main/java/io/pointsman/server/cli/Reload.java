package io.pointsman.server.cli;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.wiring.Router;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies a changed configuration at run time. Applies nothing if the configuration is invalid or
 * changes a fixed key.
 */
final class Reload {
  private static final Logger log = LoggerFactory.getLogger(Reload.class);

  /** Keys that can change at run time. */
  private static final Set<Key<?>> CHANGEABLE =
      Set.of(RoutingKeys.WORKERS, RoutingKeys.MODEL_ALIASES, OperationKeys.LOG_LEVEL);

  private final Supplier<ConfigValues> source;
  private final Router router;
  private ConfigValues inForce;

  /**
   * @param inForce configuration at the start
   * @param source reads the configuration
   */
  Reload(ConfigValues inForce, Supplier<ConfigValues> source, Router router) {
    this.inForce = inForce;
    this.source = source;
    this.router = router;
  }

  /**
   * Reads and applies the configuration; logs the reason if it is not applied.
   *
   * @return true if it was applied
   */
  synchronized boolean run() {
    try {
      ConfigValues next = source.get();
      refuseWhatIsFixed(next);
      PointsmanConfig config = PointsmanConfig.from(next);
      router.configureWorkers(inForce.get(RoutingKeys.WORKERS), config.workers());
      router.configureAliases(config.modelAliases());
      LogSetup.setLevel(config.log().level());
      inForce = next;
      log.info("configuration reloaded, with {} workers", config.workers().size());
      return true;
    } catch (ConfigException | IllegalArgumentException | IllegalStateException e) {
      log.warn("configuration not reloaded, the previous one stays active: {}", e.getMessage());
      return false;
    }
  }

  private void refuseWhatIsFixed(ConfigValues next) {
    List<String> problems = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      if (!CHANGEABLE.contains(key) && !next.get(key).equals(inForce.get(key))) {
        problems.add(
            key.path() + ": changed (expected: a restart, because it is read only at the start)");
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
  }
}
