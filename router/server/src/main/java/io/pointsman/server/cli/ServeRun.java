package io.pointsman.server.cli;

import io.pointsman.api.admin.ReloadApi.ReloadOutcome;
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
   * to {@code out}. Reloads the configuration on SIGHUP, by a call of its API, and after a change
   * of its file.
   *
   * @param file the configuration file; null if there is none
   * @param source reads the configuration
   * @return the exit code
   * @throws io.pointsman.server.wiring.StartException if the router cannot start
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
        (router, written, hangUps) -> {
          Reload reload = new Reload(first, again, router, written);
          router.onReload(reload::run);
          hangUps.reload(reload::run);
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
   * Runs a router of another router's command line. Reads the command line again, with the files
   * that it names, on SIGHUP, by a call of its API, and after a change of the launch's file.
   *
   * @param source reads the command line and its files
   */
  static int until(Launch launch, Supplier<Launch> source, PrintWriter out)
      throws InterruptedException {
    Path file = launch.file();
    FileWatch watch = file == null ? null : new FileWatch(file);
    // Read again, because the file may have changed before the watch began.
    Launch first = watch == null ? launch : source.get();
    return until(
        first.values(),
        (router, written, hangUps) -> {
          first.notes().forEach(log::info);
          router.showDynamicConfig(first.shown());
          LaunchReload reload = new LaunchReload(first, source, router, written);
          router.onReload(reload::run);
          hangUps.reload(reload::run);
          return watch == null ? null : watch.start(reload::runAfterChange);
        },
        out);
  }

  /** Reads a launch again, applies it, and shows the one in force. */
  private static final class LaunchReload {
    private final Supplier<Launch> source;
    private final Router router;
    private final Reload reload;
    private Launch inForce;
    private Launch read;

    LaunchReload(Launch first, Supplier<Launch> source, Router router, LogSetup written) {
      this.source = source;
      this.router = router;
      inForce = first;
      read = first;
      reload = new Reload(first.values(), this::values, router, written);
    }

    private ConfigValues values() {
      Launch next = source.get();
      read = next;
      return next.values();
    }

    synchronized ReloadOutcome run() {
      return shown(reload.run());
    }

    synchronized ReloadOutcome runAfterChange() {
      return shown(reload.runAfterChange());
    }

    /** Shows the launch that was read, if it is in force. Logs the notes that are new. */
    private ReloadOutcome shown(ReloadOutcome outcome) {
      if (outcome.applied()) {
        read.notes().stream().filter(note -> !inForce.notes().contains(note)).forEach(log::info);
        router.showDynamicConfig(read.shown());
        inForce = read;
      }
      return outcome;
    }
  }

  /** Work beside a router. */
  private interface Beside {
    /**
     * Starts it.
     *
     * @param hangUps gets the action for each SIGHUP
     * @return the watch of a file, which ends before the router stops; null: none
     */
    @Nullable Rounds start(Router router, LogSetup written, Signals.HangUps hangUps);
  }

  private static int until(ConfigValues values, Beside beside, PrintWriter out)
      throws InterruptedException {
    PointsmanConfig config = PointsmanConfig.from(values);
    CountDownLatch stop = new CountDownLatch(1);
    Signals.HangUps hangUps = new Signals.HangUps();
    // From here on the process survives a SIGHUP.
    Signals.onHangUp(hangUps::arrived);
    try (LogSetup written = startLog(config.log())) {
      Router router = Router.start(config, VersionCommand.version());
      try (router) {
        Signals.onFirst(stop::countDown);
        openJars();
        try (Rounds _ = beside.start(router, written, hangUps)) {
          greet(router, config, out);
          ConfigNotes.of(values, config).forEach(log::warn);
          warnOfFlags(values);
          MemoryNote.of(System.getProperty(MemoryNote.PROPERTY)).ifPresent(log::warn);
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
