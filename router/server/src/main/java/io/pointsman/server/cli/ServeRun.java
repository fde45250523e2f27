package io.pointsman.server.cli;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.server.wiring.Router;
import io.pointsman.server.wiring.StartException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.function.Supplier;
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
  public static int until(PointsmanConfig config, PrintWriter out) throws InterruptedException {
    return until(config, _ -> {}, out);
  }

  /**
   * Runs a router that reloads its configuration on SIGHUP.
   *
   * @param source reads the configuration
   */
  static int until(ConfigValues values, Supplier<ConfigValues> source, PrintWriter out)
      throws InterruptedException {
    return until(
        PointsmanConfig.from(values),
        router -> Signals.onHangUp(new Reload(values, source, router)::run),
        out);
  }

  private static int until(PointsmanConfig config, Consumer<Router> onStart, PrintWriter out)
      throws InterruptedException {
    CountDownLatch stop = new CountDownLatch(1);
    try (LogSetup _ = startLog(config.log())) {
      Router router = Router.start(config, VersionCommand.version());
      try (router) {
        Signals.onFirst(stop::countDown);
        openJars();
        onStart.accept(router);
        greet(router, config, out);
        stop.await();
        log.info("stopping, {} requests in flight", router.inFlight());
      }
      log.info("stopped, {} requests in flight", router.inFlight());
    }
    return 0;
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
    out.printf(
        "pointsman listens on %s (%s, %d worker%s)%s%n",
        router.url(),
        config.policy(),
        workers,
        workers == 1 ? "" : "s",
        router.metricsUrl() == null ? "" : ", metrics on " + router.metricsUrl());
    out.flush();
  }
}
