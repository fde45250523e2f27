package io.pointsman.server.cli;

import io.pointsman.api.admin.ReloadApi.ReloadOutcome;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.RestartReasons;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.wiring.ChangePart;
import io.pointsman.server.wiring.ReloadFailedException;
import io.pointsman.server.wiring.Router;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Applies a changed configuration at run time, completely or not at all. Applies nothing if it is
 * invalid, or if a key changed that only a restart can change.
 */
final class Reload {
  private static final Logger log = LoggerFactory.getLogger(Reload.class);

  private final Supplier<ConfigValues> source;
  private final Router router;
  private final LogSetup written;
  private ConfigValues inForce;
  private PointsmanConfig present;

  /**
   * @param inForce configuration at the start
   * @param source reads the configuration
   * @param written the log of the process
   */
  Reload(ConfigValues inForce, Supplier<ConfigValues> source, Router router, LogSetup written) {
    this.written = written;
    this.inForce = inForce;
    this.source = source;
    this.router = router;
    present = PointsmanConfig.from(inForce);
  }

  /** Reads and applies the configuration; logs the reason if it is not applied. */
  synchronized ReloadOutcome run() {
    return run(true);
  }

  /**
   * As {@link #run}, after a change of the file. Logs nothing if the configuration is the same, for
   * example because a signal has already reloaded it.
   */
  synchronized ReloadOutcome runAfterChange() {
    return run(false);
  }

  private ReloadOutcome run(boolean logsNoChange) {
    try {
      ConfigValues next = source.get();
      PointsmanConfig config = PointsmanConfig.from(next);
      List<Key<?>> changed = changed(inForce, next);
      addChangedFiles(config, changed);
      refuseWhatIsFixed(next, config, changed);
      change(config);
      inForce = next;
      present = config;
      List<String> paths = changed.stream().map(Key::path).toList();
      if (logsNoChange || !paths.isEmpty()) {
        log.info(
            "configuration reloaded, with {} workers; changed: {}",
            config.workers().size(),
            paths.isEmpty() ? "nothing" : String.join(", ", paths));
      }
      return new ReloadOutcome(true, paths, List.of());
    } catch (ConfigException e) {
      return refused(e.problems(), String.valueOf(e.getMessage()));
    } catch (ReloadFailedException e) {
      return failed(e);
    } catch (IllegalArgumentException | IllegalStateException e) {
      String reason = String.valueOf(e.getMessage());
      return refused(List.of(reason), reason);
    } catch (RuntimeException | LinkageError e) {
      // Nothing of the configuration is in force yet.
      log.error("configuration not reloaded, the previous one stays active", e);
      return ReloadOutcome.refused(List.of("configuration: not read: " + e));
    }
  }

  private void change(PointsmanConfig config) {
    LogSetup.Change lines = written.prepared(config.log());
    ChangePart part =
        ChangePart.of("log", lines::apply, lines::undo).releasing(lines::drop, lines::finish);
    router.change(present, config, List.of(part));
  }

  private static ReloadOutcome failed(ReloadFailedException e) {
    String reason = String.valueOf(e.getMessage());
    if (!e.isUndone()) {
      log.error("the reload of the configuration failed; it may be in force in parts", e);
      return ReloadOutcome.refused(
          List.of("configuration: may be in force in parts (expected: a restart): " + reason));
    }
    if (e.isFault()) {
      log.error("configuration not reloaded, the previous one stays active: {}", reason, e);
      return ReloadOutcome.refused(List.of(reason));
    }
    return refused(List.of(reason), reason);
  }

  private static ReloadOutcome refused(List<String> problems, String message) {
    log.warn("configuration not reloaded, the previous one stays active: {}", message);
    return ReloadOutcome.refused(problems);
  }

  private static List<Key<?>> changed(ConfigValues before, ConfigValues next) {
    List<Key<?>> changed = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      if (!next.get(key).equals(before.get(key))) {
        changed.add(key);
      }
    }
    return changed;
  }

  /** Adds each key with a file that has another content under the same name. */
  private void addChangedFiles(PointsmanConfig next, List<Key<?>> changed) {
    AccessSettings before = present.access();
    AccessSettings after = next.access();
    if (!before.adminKey().equals(after.adminKey())
        && !changed.contains(AccessKeys.API_KEY)
        && !changed.contains(AccessKeys.API_KEY_FILE)) {
      changed.add(AccessKeys.API_KEY_FILE);
    }
    if (!before.planeKey().equals(after.planeKey())
        && !changed.contains(DecideKeys.API_KEY)
        && !changed.contains(DecideKeys.API_KEY_FILE)) {
      changed.add(DecideKeys.API_KEY_FILE);
    }
  }

  private void refuseWhatIsFixed(ConfigValues next, PointsmanConfig config, List<Key<?>> changed) {
    PointsmanConfig able = router.withSlots(present);
    if (able.canBecome(config)) {
      return;
    }
    List<String> problems = new ArrayList<>();
    for (Key<?> key : LiveKeys.fixed(able, inForce, changed, next)) {
      problems.add(
          key.path() + ": changed (expected: a restart, because " + RestartReasons.why(key) + ")");
    }
    if (problems.isEmpty()) {
      problems.add("configuration: changed (expected: a restart for these changes together)");
    }
    throw new ConfigException(problems);
  }
}
