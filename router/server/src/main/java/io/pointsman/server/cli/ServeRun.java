package io.pointsman.server.cli;

import io.pointsman.api.admin.ReloadApi;
import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.control.health.Rounds;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.wiring.Router;
import io.pointsman.server.wiring.StartException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A router in the foreground of this process; every command for a router uses it. */
public final class ServeRun {
  private static final Logger log = LoggerFactory.getLogger(ServeRun.class);

  private ServeRun() {}

  /**
   * Runs a router until a signal stops it and its requests have ended. Prints the listening address
   * to {@code out}.
   *
   * @return the exit code
   * @throws io.pointsman.server.wiring.StartException if the router cannot start
   */
  static int until(ConfigValues values, PrintWriter out) throws InterruptedException {
    return until(values, (_, _) -> null, out);
  }

  /**
   * Runs a router that reloads its configuration on SIGHUP, by a call of its API, and after a
   * change of its file.
   *
   * @param file the configuration file; null if there is none
   * @param source reads the configuration
   */
  static int until(
      ConfigValues values, @Nullable Path file, Supplier<ConfigValues> source, PrintWriter out)
      throws InterruptedException {
    FileWatch watch = file == null ? null : new FileWatch(file);
    // Read again, because the file may have changed before the watch began.
    ConfigValues first = watch == null ? values : source.get();
    Supplier<ConfigValues> again =
        file == null || FileWatch.hasNoKey(file) ? source : refusingEmpty(file, source);
    return until(
        first,
        (router, written) -> {
          Reload reload = new Reload(first, again, router, written);
          router.onReload(reload::run);
          Signals.onHangUp(reload::run);
          return watch == null ? null : watch.start(reload::runAfterChange);
        },
        out);
  }

  private static Supplier<ConfigValues> refusingEmpty(Path file, Supplier<ConfigValues> source) {
    return () -> {
      if (FileWatch.hasNoKey(file)) {
        throw new ConfigException(file + ": has no key (expected: a configuration; it had keys)");
      }
      return source.get();
    };
  }

  /**
   * Runs a router that reads a file again after each change, and on SIGHUP.
   *
   * @param source reads the command line and the file again
   */
  static int until(Launch launch, Supplier<Launch> source, PrintWriter out)
      throws InterruptedException {
    Path file = launch.file();
    if (file == null) {
      return until(
          launch.values(),
          (_, _) -> {
            launch.notes().forEach(log::info);
            return null;
          },
          out);
    }
    FileWatch watch = new FileWatch(file);
    // Read again, because the file may have changed before the watch began.
    Launch first = source.get();
    AtomicReference<Launch> read = new AtomicReference<>(first);
    return until(
        first.values(),
        (router, written) -> {
          first.notes().forEach(log::info);
          router.showDynamicConfig(first.shown());
          Reload reload = new Reload(first.values(), () -> values(source, read), router, written);
          Supplier<ReloadApi.ReloadOutcome> again =
              () -> {
                ReloadApi.ReloadOutcome outcome = reload.run();
                if (outcome.applied()) {
                  router.showDynamicConfig(read.get().shown());
                }
                return outcome;
              };
          router.onReload(again);
          Runnable unasked =
              () -> {
                ReloadApi.ReloadOutcome _ = again.get();
              };
          Signals.onHangUp(unasked);
          return watch.start(unasked);
        },
        out);
  }

  private static ConfigValues values(Supplier<Launch> source, AtomicReference<Launch> read) {
    Launch next = source.get();
    read.set(next);
    return next.values();
  }

  /** Work beside a router. */
  private interface Beside {
    /** Starts it. Returns the watch of a file, which ends before the router stops; null: none. */
    @Nullable Rounds start(Router router, LogSetup written);
  }

  private static int until(ConfigValues values, Beside beside, PrintWriter out)
      throws InterruptedException {
    PointsmanConfig config = PointsmanConfig.from(values);
    CountDownLatch stop = new CountDownLatch(1);
    try (LogSetup written = startLog(config.log())) {
      Router router = Router.start(config, VersionCommand.version());
      try (router) {
        Signals.onFirst(stop::countDown);
        openJars();
        try (Rounds _ = beside.start(router, written)) {
          greet(router, config, out);
          WorkerNotes.of(values, config).forEach(log::warn);
          warnOfFlags(values);
          Thread.startVirtualThread(() -> unknownHosts(config));
          stop.await();
        }
        log.info("stopping, {} requests in flight", router.inFlight());
      }
      log.info("stopped, {} requests in flight", router.inFlight());
    }
    return 0;
  }

  private static void warnOfFlags(ConfigValues values) {
    for (String flag : values.exposedFlags()) {
      log.warn(
          "{}: other users of this machine can see the key in the list of processes (expected:"
              + " {}-file)",
          flag,
          flag);
    }
  }

  /** Beside the start, because a lookup may take seconds. */
  private static void unknownHosts(PointsmanConfig config) {
    WorkerNotes.unknownHosts(config, host -> List.of(InetAddress.getAllByName(host)))
        .forEach(log::warn);
  }

  private static void openJars() {
    List<String> missing = OpenJars.open();
    if (!missing.isEmpty()) {
      log.warn("missing on the class path: {}", missing);
    }
  }

  private static LogSetup startLog(LogSettings settings) {
    try {
      return LogSetup.start(settings);
    } catch (UncheckedIOException e) {
      throw new StartException("log.directory: cannot be written to: " + e.getCause(), e);
    }
  }

  private static void greet(Router router, PointsmanConfig config, PrintWriter out) {
    int workers = config.workers().size();
    String greeting =
        "pointsman listens on %s (%s, %d worker%s), admin on %s%s"
            .formatted(
                router.url(),
                config.policy(),
                workers,
                workers == 1 ? "" : "s",
                router.adminUrl(),
                router.metricsUrl() == null ? "" : ", metrics on " + router.metricsUrl());
    out.print(LogSetup.line(config.log().format(), greeting));
    out.flush();
  }
}
