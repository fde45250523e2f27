package io.pointsman.app.haproxy;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.app.health.Rounds;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running HAProxy that asks a router where requests go and carries their bytes itself. Its files
 * lie in a directory of their own, which goes with it.
 */
public final class HaproxyPlane implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(HaproxyPlane.class);
  private static final Duration LOOK = Duration.ofMillis(250);
  private static final int BUFFER = 131_072;

  private final HaproxySettings settings;
  private final int port;
  private final Path directory;
  private final RouterCalls router;
  private final StreamEnds ends;
  private final Process process;
  private final FleetSlots slots;
  private final Rounds rounds;
  private boolean silent;

  private HaproxyPlane(HaproxySettings settings) throws IOException {
    this.settings = settings;
    port = settings.listen().getPort() > 0 ? settings.listen().getPort() : freePort();
    directory = Files.createTempDirectory("pointsman-haproxy");
    router = new RouterCalls(settings.router());
    ends = StreamEnds.open(router);
    process = launched();
    slots =
        new FleetSlots(
            new RuntimeApi(directory.resolve("s")), file("workers.map"), settings.slots());
    rounds = Rounds.start("haproxy-fleet", LOOK, this::follow);
  }

  /** Leaves nothing behind if HAProxy cannot be run. */
  private Process launched() throws IOException {
    try {
      write();
      return new ProcessBuilder(settings.executable(), "-db", "-f", file("haproxy.cfg"))
          .redirectErrorStream(true)
          .redirectOutput(directory.resolve("haproxy.log").toFile())
          .start();
    } catch (IOException e) {
      ends.close();
      router.close();
      removeFiles();
      throw e;
    }
  }

  /**
   * Starts HAProxy; the router need not be there yet.
   *
   * @throws IOException if HAProxy is not there or does not start
   */
  public static HaproxyPlane start(HaproxySettings settings) throws IOException {
    return new HaproxyPlane(settings);
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private String file(String name) {
    return directory.resolve(name).toString();
  }

  private void write() throws IOException {
    Map<String, String> names = new LinkedHashMap<>();
    names.put("@NAMES@", "names between at signs");
    names.put("@LOG_ADDRESS@", "127.0.0.1:" + ends.port());
    names.put("@SOCKET@", file("s"));
    names.put("@MAXCONN@", Integer.toString(settings.maxConnections()));
    names.put("@BUFSIZE@", Integer.toString(BUFFER));
    names.put("@BODY_WAIT@", Integer.toString(BUFFER - BUFFER / 8));
    names.put("@LUA@", file("pointsman.lua"));
    names.put("@LISTEN@", settings.listen().getHostString() + ":" + port);
    names.put("@MAP@", file("workers.map"));
    names.put("@SLOTS@", Integer.toString(settings.slots()));
    names.put("@ROUTER_HOST@", InetAddress.getByName(settings.router().getHost()).getHostAddress());
    names.put("@ROUTER_PORT@", Integer.toString(settings.router().getPort()));
    names.put("@TIMEOUT_SECONDS@", Double.toString(settings.timeout().toMillis() / 1000.0));
    names.put("@TTL_MS@", Long.toString(settings.ttl().toMillis()));
    for (String name : List.of("haproxy.cfg", "pointsman.lua")) {
      String text = template(name);
      for (Map.Entry<String, String> each : names.entrySet()) {
        text = text.replace(each.getKey(), each.getValue());
      }
      Files.writeString(directory.resolve(name), text);
    }
    Files.createFile(directory.resolve("workers.map"));
  }

  private static String template(String name) throws IOException {
    try (InputStream in = HaproxyPlane.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IOException(name + " is missing in this program");
      }
      return new String(in.readAllBytes(), UTF_8);
    }
  }

  private void follow() {
    try {
      slots.follow(router.workers());
      silent = false;
    } catch (IOException e) {
      if (!silent) {
        log.warn("HAProxy keeps the workers that it has: {}", e.toString());
      }
      silent = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Where clients come in. */
  public String url() {
    return "http://" + settings.listen().getHostString() + ":" + port;
  }

  /** Workers that HAProxy knows now. */
  public int workers() {
    return slots.size();
  }

  /** Ends when HAProxy does, with its exit code. */
  public CompletableFuture<Integer> ended() {
    return process.onExit().thenApply(Process::exitValue);
  }

  /** What HAProxy has said so far. */
  public String output() {
    try {
      return Files.readString(directory.resolve("haproxy.log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Ends HAProxy; streams under way are cut. */
  @Override
  public void close() {
    rounds.close();
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
    removeFiles();
  }

  private void removeFiles() {
    try (Stream<Path> files = Files.walk(directory)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException e) {
      log.debug("{} was not removed", directory, e);
    }
  }
}
