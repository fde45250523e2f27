package io.pointsman.plane.haproxy;

import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.tls.ClientTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running HAProxy that queries a router for decisions and forwards requests itself. Its files are
 * in a temporary directory, which is deleted with it.
 */
public final class HaproxyPlane implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(HaproxyPlane.class);
  private static final Duration LOOK = Duration.ofMillis(250);
  private static final int START_STEPS = 1_000;
  private static final Duration FIRST_ANSWER = Duration.ofSeconds(20);
  private static final int STEP_MILLIS = 20;

  /**
   * Runs HAProxy and stops it when this process ends in any way, since the pipe from this process
   * then closes. An orphaned HAProxy would keep an outdated fleet and never settle leases. A SIGHUP
   * of the terminal ends neither, because this process goes on after it.
   */
  private static final String WATCHED =
      """
      trap '' HUP
      exec 3<&0
      "$@" 3<&- & it=$!
      trap 'kill $it' TERM INT
      { cat <&3 >/dev/null; kill $it; } 2>/dev/null & watch=$!
      exec 3<&-
      wait $it; code=$?
      while kill -0 $it 2>/dev/null; do wait $it; code=$?; done
      kill $watch 2>/dev/null
      exit $code
      """;

  /** Environment variable that HAProxy's configuration reads. */
  private static final String ENGINE_KEY = "POINTSMAN_ENGINE_API_KEY";

  /** Environment variable that HAProxy must not get. */
  private static final String ROUTERS_KEY = "POINTSMAN_API_KEY";

  private final HaproxySettings settings;
  private final int port;
  private final RouterCalls router;
  private final StreamEnds ends;
  private final HaproxyFiles files;
  private final RuntimeApi runtime;
  private final Process process;
  private final FleetNames names = new FleetNames();
  private final FleetSlots slots;
  private final Rounds following;
  private final Rounds renewing;
  private boolean silent;

  private HaproxyPlane(HaproxySettings settings) throws IOException {
    this.settings = settings;
    port = settings.listen().getPort() > 0 ? settings.listen().getPort() : freePort();
    router = new RouterCalls(settings.router(), settings.apiKey(), settings.routerTls());
    ends = StreamEnds.open(router);
    files = written();
    runtime = new RuntimeApi(files.socket());
    process = launched();
    slots = new FleetSlots(runtime, files.map(), settings.slots(), names);
    following = Rounds.start("haproxy-fleet", LOOK, this::follow);
    LiveLeases leases = new LiveLeases(runtime, router, settings.ttl());
    renewing = Rounds.start("haproxy-leases", leases.beats(), leases::beat);
  }

  private HaproxyFiles written() throws IOException {
    try {
      return HaproxyFiles.write(settings, port, ends.port());
    } catch (IOException e) {
      ends.close();
      router.close();
      throw e;
    }
  }

  /** Starts the process; releases all resources if it cannot run. */
  private Process launched() throws IOException {
    try {
      ProcessBuilder builder =
          new ProcessBuilder(
                  "/bin/sh",
                  "-c",
                  WATCHED,
                  "sh",
                  settings.executable(),
                  "-db",
                  "-f",
                  files.configuration())
              .redirectErrorStream(true)
              .redirectOutput(files.output().toFile());
      // Neither in a file, which a killed process would leave behind, nor among the arguments.
      builder.environment().put(ENGINE_KEY, settings.engineKey());
      builder.environment().remove(ROUTERS_KEY);
      Process started = builder.start();
      awaitReady(started);
      return started;
    } catch (IOException e) {
      ends.close();
      router.close();
      files.close();
      throw e;
    }
  }

  /** Waits for a response on one address; HAProxy has then bound all of them. */
  private void awaitReady(Process started) throws IOException {
    RuntimeApi patient = new RuntimeApi(files.socket(), FIRST_ANSWER);
    try {
      for (int i = 0; i < START_STEPS; i++) {
        if (started.waitFor(STEP_MILLIS, TimeUnit.MILLISECONDS)) {
          throw new IOException(output().strip());
        }
        if (answers(patient)) {
          return;
        }
      }
    } catch (SocketTimeoutException _) {
      // Reported below.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    started.destroyForcibly();
    throw new IOException("no answer on its own socket: " + output().strip());
  }

  private static boolean answers(RuntimeApi patient) throws SocketTimeoutException {
    try {
      return !patient.ask("show info").isEmpty();
    } catch (SocketTimeoutException e) {
      throw e;
    } catch (IOException _) {
      return false;
    }
  }

  /**
   * Starts HAProxy and waits until it listens; the router may start later.
   *
   * @throws IOException if HAProxy is missing or does not start; the message contains its output
   */
  public static HaproxyPlane start(HaproxySettings settings) throws IOException {
    return new HaproxyPlane(settings);
  }

  /**
   * The router's SPOE address, as the router reports it.
   *
   * @param apiKey bearer token for the router; empty: none
   * @throws IOException if the router does not respond, or has no such address
   */
  public static InetSocketAddress spoeOf(URI router, String apiKey) throws IOException {
    return spoeOf(router, apiKey, ClientTls.OF_JVM);
  }

  /**
   * Checks the URL of a router and the files for TLS.
   *
   * @throws IllegalArgumentException if one of them cannot be used
   */
  public static void check(URI router, ClientTls tls) {
    HaproxySettings.checkRouter(router);
    new RouterCalls(router, "", tls).close();
  }

  /**
   * The same of a router with {@code https://}.
   *
   * @param tls certificates for the router
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  public static InetSocketAddress spoeOf(URI router, String apiKey, ClientTls tls)
      throws IOException {
    InetSocketAddress address;
    try (RouterCalls calls = new RouterCalls(router, apiKey, tls)) {
      address = calls.spoe();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException(router + " was not asked: interrupted", e);
    } catch (IOException e) {
      throw new IOException(router + " does not answer (expected: a running router): " + e, e);
    }
    if (address == null) {
      throw new IOException(router + " has no SPOE address (expected: decide.spoe-address)");
    }
    return address;
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void follow() {
    try {
      Map<String, URI> workers = router.workers();
      // Null means an unknown fleet. An empty map means that all workers drain, and then none gets
      // requests.
      if (workers != null) {
        slots.follow(workers);
        names.retain(FleetSlots.hosts(workers.values()));
      }
      silent = false;
    } catch (IOException e) {
      if (!silent) {
        log.warn(
            "the router's list of workers is not available; HAProxy keeps its workers: {}",
            LogText.of(e));
      }
      silent = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Uses another key for requests to the router, and reads the files for TLS to it again. Streams
   * and leases go on.
   *
   * @throws IllegalArgumentException if a file cannot be used, or if the key is set or removed;
   *     nothing changes then
   */
  public void use(String apiKey, ClientTls tls) {
    if (apiKey.isEmpty() == settings.guarded()) {
      throw new IllegalArgumentException(
          "--api-key: set or removed (expected: a restart; HAProxy's rules depend on it)");
    }
    router.use(apiKey, tls);
  }

  /** The URL for clients. */
  public String url() {
    return "http://" + settings.listen().getHostString() + ":" + port;
  }

  /** Number of workers that HAProxy serves. */
  public int workers() {
    return slots.size();
  }

  /** Completes when HAProxy ends, with its exit code. */
  public CompletableFuture<Integer> ended() {
    return process.onExit().thenApply(Process::exitValue);
  }

  /** HAProxy's output up to here. */
  public String output() {
    try {
      return Files.readString(files.output());
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Stops HAProxy; open streams are cut. */
  @Override
  public void close() {
    following.close();
    names.close();
    renewing.close();
    process.destroy();
    try {
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    ends.close();
    router.close();
    files.close();
  }
}
