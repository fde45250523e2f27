package io.pointsman.server.cli;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.ConfigException;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.observe.logging.LogSetup;
import io.pointsman.plane.haproxy.HaproxyPlane;
import io.pointsman.plane.haproxy.HaproxySettings;
import io.pointsman.proxy.tls.ClientTls;
import io.pointsman.server.wiring.StartException;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.security.Security;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code pointsman haproxy}: starts HAProxy, which forwards requests as a router decides. */
@Command(
    name = "haproxy",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Start HAProxy (2.6 or newer, with SPOE and Lua) in front of the workers of a running router."
          + " HAProxy asks the router for a worker for each POST and forwards the request itself."
          + " See docs/haproxy.md.",
      "",
      "  pointsman haproxy --listen 127.0.0.1:8080 --router http://127.0.0.1:30000",
      ""
    })
final class HaproxyCommand implements Callable<Integer> {
  private static final Logger LOG = LoggerFactory.getLogger(HaproxyCommand.class);
  private static final String NAMES_KEPT = "networkaddress.cache.ttl";

  @Spec private @Nullable CommandSpec spec;

  /** Protocol for decisions, for the start message. */
  private String way = "";

  @Option(
      names = "--listen",
      paramLabel = "<host:port>",
      required = true,
      description = "Address for clients.")
  private String listen = "";

  @Option(
      names = "--router",
      paramLabel = "<url>",
      required = true,
      description =
          "URL of the router's admin listener, http://host:port, or https://host:port with"
              + " admin-tls.")
  private String router = "";

  @Option(
      names = "--router-ca-file",
      paramLabel = "<file>",
      description =
          "PEM file with the CA certificates of a router with https://. Default: those of the JVM.")
  private String routerCa = "";

  @Option(
      names = "--router-certificate-file",
      paramLabel = "<file>",
      description = "PEM file with the certificate for a router with admin-tls.client-ca-file.")
  private String routerCertificate = "";

  @Option(
      names = "--router-key-file",
      paramLabel = "<file>",
      description = "PEM file with its key. Default: the file of the certificate.")
  private String routerKey = "";

  @Option(
      names = "--api-key",
      paramLabel = "<key>",
      description = {
        "Bearer token for the router's admin listener: its decide.api-key. HAProxy then asks the"
            + " router for every request and sends none to a worker without its permission. Other"
            + " users of this machine can see arguments; use --api-key-file or the environment"
            + " variable "
            + PlaneKey.ROUTERS
            + "."
      })
  private @Nullable String apiKey;

  @Option(
      names = "--api-key-file",
      paramLabel = "<file>",
      description = "File that contains only this token.")
  private @Nullable Path apiKeyFile;

  @Option(
      names = "--engine-api-key",
      paramLabel = "<key>",
      description = {
        "Bearer token for engines, added to requests without an Authorization header, as the"
            + " router's api-key is. Other users of this machine can see arguments; use"
            + " --engine-api-key-file or the environment variable "
            + PlaneKey.ENGINES
            + "."
      })
  private @Nullable String engineKey;

  @Option(
      names = "--engine-api-key-file",
      paramLabel = "<file>",
      description = "File that contains only this token.")
  private @Nullable Path engineKeyFile;

  @Option(
      names = "--spoe",
      paramLabel = "<host:port>",
      description =
          "The router's decide.spoe-address, where HAProxy asks by SPOE over persistent"
              + " connections. Default: as reported by --router, which must then be running.")
  private @Nullable String spoe;

  @Option(
      names = "--no-first-token",
      description =
          "Do not report first tokens to the router. This saves a Lua filter on each stream."
              + " Policies then learn only from the ends of requests.")
  private boolean noFirstToken;

  @Option(
      names = "--executable",
      paramLabel = "<file>",
      defaultValue = "haproxy",
      description = "HAProxy executable. Default: ${DEFAULT-VALUE}.")
  private String executable = "";

  @Option(
      names = "--timeout",
      paramLabel = "<ms>",
      defaultValue = "1000",
      description =
          "Maximum wait for the router's answer, in milliseconds. Then HAProxy chooses a worker"
              + " itself. Default: ${DEFAULT-VALUE}.")
  private int timeout;

  @Option(
      names = "--ttl",
      paramLabel = "<seconds>",
      defaultValue = "60",
      description =
          "Lease duration in seconds, at most the router's decide.max-ttl. Leases are renewed while"
              + " their streams run. Default: ${DEFAULT-VALUE}.")
  private int ttl;

  @Option(
      names = "--slots",
      paramLabel = "<n>",
      defaultValue = "64",
      description = "Maximum number of workers in HAProxy. Default: ${DEFAULT-VALUE}.")
  private int slots;

  @Option(
      names = "--max-connections",
      paramLabel = "<n>",
      defaultValue = "4096",
      description = "Maximum number of client connections. Default: ${DEFAULT-VALUE}.")
  private int maxConnections;

  /**
   * Limits the JVM's cache of host names to 5 s, so addresses of workers can change. Has an effect
   * only before the first lookup.
   */
  private static void forgetNamesSoon() {
    if (Security.getProperty(NAMES_KEPT) == null) {
      Security.setProperty(NAMES_KEPT, "5");
    }
  }

  @Override
  public Integer call() throws InterruptedException {
    checkRouter();
    forgetNamesSoon();
    CountDownLatch stop = new CountDownLatch(1);
    Signals.HangUps hangUps = new Signals.HangUps();
    // From here on the process survives a SIGHUP.
    Signals.onHangUp(hangUps::arrived);
    Signals.onFirst(stop::countDown);
    String engines = PlaneKey.OF_ENGINES.of(engineKey, engineKeyFile, System.getenv());
    LogSettings log = new LogSettings(LogSettings.Level.INFO, LogSettings.Format.TEXT, "");
    try (LogSetup _ = LogSetup.start(log);
        HaproxyPlane plane = start(settings(engines))) {
      hangUps.reload(() -> reload(plane, engines));
      plane.ended().thenRun(stop::countDown);
      PrintWriter out = requireNonNull(spec).commandLine().getOut();
      out.println("HAProxy listens on " + plane.url() + ", decisions by " + router + " " + way);
      out.flush();
      stop.await();
      if (plane.ended().isDone()) {
        throw new StartException("HAProxy has ended: " + plane.output(), new IOException());
      }
    }
    return 0;
  }

  /**
   * Reads the files of the flags again. HAProxy itself goes on, with its streams.
   *
   * @param engines the key for engines that HAProxy has
   */
  private synchronized void reload(HaproxyPlane plane, String engines) {
    try {
      boolean otherKey =
          !PlaneKey.OF_ENGINES.of(engineKey, engineKeyFile, System.getenv()).equals(engines);
      plane.use(PlaneKey.OF_ROUTER.of(apiKey, apiKeyFile, System.getenv()), routerTls());
      LOG.info(
          "SIGHUP: the key and the certificates for the router are read again; {} the SPOE address"
              + " need a restart",
          otherKey ? "the other key for engines and" : "the key for engines and");
    } catch (ConfigException | IllegalArgumentException e) {
      LOG.warn("SIGHUP: not reloaded, the previous keys stay: {}", e.getMessage());
    }
  }

  /** Checks the flags of the router before anything starts, also if {@code --spoe} is given. */
  private void checkRouter() {
    if (routerCertificate.isEmpty() && !routerKey.isEmpty()) {
      throw new ConfigException(
          "--router-key-file: " + routerKey + " (expected: with --router-certificate-file)");
    }
    try {
      HaproxyPlane.check(URI.create(router), routerTls());
    } catch (IllegalArgumentException e) {
      throw new ConfigException(String.valueOf(e.getMessage()));
    }
  }

  private ClientTls routerTls() {
    return new ClientTls(routerCa, routerCertificate, routerKey);
  }

  private HaproxySettings settings(String engines) {
    InetSocketAddress clients = address("--listen", listen);
    InetSocketAddress given = spoe == null ? null : address("--spoe", spoe);
    String key = PlaneKey.OF_ROUTER.of(apiKey, apiKeyFile, System.getenv());
    try {
      URI asked = URI.create(router);
      ClientTls tls = routerTls();
      return new HaproxySettings(
          clients,
          asked,
          tls,
          key,
          engines,
          given == null ? HaproxyPlane.spoeOf(asked, key, tls) : given,
          !noFirstToken,
          executable,
          Duration.ofMillis(timeout),
          Duration.ofSeconds(ttl),
          slots,
          maxConnections);
    } catch (IllegalArgumentException e) {
      throw new ConfigException(String.valueOf(e.getMessage()));
    } catch (IOException e) {
      throw new StartException("--router: " + e.getMessage(), e);
    }
  }

  private static InetSocketAddress address(String flag, String written) {
    int colon = written.lastIndexOf(':');
    try {
      if (colon < 1) {
        throw new IllegalArgumentException("no host");
      }
      return InetSocketAddress.createUnresolved(
          written.substring(0, colon), Integer.parseInt(written.substring(colon + 1)));
    } catch (IllegalArgumentException e) {
      throw new ConfigException(flag + ": " + written + " (expected: host:port)");
    }
  }

  private HaproxyPlane start(HaproxySettings settings) {
    InetSocketAddress asked = settings.spoe();
    way = "over SPOE at " + asked.getHostString() + ":" + asked.getPort();
    try {
      return HaproxyPlane.start(settings);
    } catch (IOException e) {
      throw new StartException("HAProxy does not start: " + e.getMessage(), e);
    }
  }
}
