package io.pointsman.it.plane;

import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/** A real nginx with the configuration and script of {@code planes/nginx}. */
final class NginxProcess implements AutoCloseable {
  private static final Path SOURCES = Path.of("..", "..", "planes", "nginx");

  private final Path directory;
  private final Process process;
  private final int port;

  private NginxProcess(Path directory, Process process, int port) {
    this.directory = directory;
    this.process = process;
    this.port = port;
  }

  /** True if the required nginx module is installed. */
  static boolean installed() {
    return Files.exists(Path.of("/usr/lib/nginx/modules/ngx_http_lua_module.so"));
  }

  /**
   * @param key bearer token for the router; empty: none
   * @param engineKey bearer token for engines; empty: none
   */
  static NginxProcess start(int router, Duration ttl, String key, String engineKey)
      throws IOException {
    return start(router, ttl, PlaneRig.PATIENCE, key, engineKey);
  }

  /**
   * @param patience timeout for the router
   */
  static NginxProcess start(
      int router, Duration ttl, Duration patience, String key, String engineKey)
      throws IOException {
    return start(router, ttl, patience, key, engineKey, UnaryOperator.identity());
  }

  /**
   * A process for a router with TLS at its admin listener.
   *
   * @param authority PEM file with the CA of the router's certificate, which names localhost
   */
  static NginxProcess startWithTls(int router, Path authority) throws IOException {
    return start(
        router,
        Duration.ofMinutes(1),
        PlaneRig.PATIENCE,
        "",
        "",
        text ->
            text.replace("-- router_tls =", "router_tls =")
                .replace(
                    "  lua_socket_log_errors off;",
                    "  lua_socket_log_errors off;\n  lua_ssl_trusted_certificate "
                        + authority
                        + ";"));
  }

  private static NginxProcess start(
      int router,
      Duration ttl,
      Duration patience,
      String key,
      String engineKey,
      UnaryOperator<String> change)
      throws IOException {
    Path directory = Files.createTempDirectory("pointsman-nginx");
    int port = FreePorts.next();
    for (String name : List.of("nginx.conf", "pointsman.lua")) {
      String text =
          Files.readString(SOURCES.resolve(name))
              .replace("@DIRECTORY@", directory.toString())
              .replace("@ROUTER_HOST@", "127.0.0.1")
              .replace("@ROUTER_PORT@", Integer.toString(router))
              .replace("@TTL_MS@", Long.toString(ttl.toMillis()))
              .replace("timeout_ms = 1000", "timeout_ms = " + patience.toMillis())
              .replace("@LISTEN@", "127.0.0.1:" + port);
      Files.writeString(directory.resolve(name), change.apply(text));
    }
    // Its processes must be able to write to the test's directory, also as root.
    String user = System.getProperty("user.name").equals("root") ? "user root; " : "";
    ProcessBuilder builder =
        new ProcessBuilder(
                "nginx",
                "-p",
                directory.toString(),
                "-c",
                directory.resolve("nginx.conf").toString(),
                "-g",
                user + "daemon off;")
            .redirectErrorStream(true)
            .redirectOutput(directory.resolve("output.log").toFile());
    builder.environment().put("POINTSMAN_API_KEY", key);
    builder.environment().put("POINTSMAN_ENGINE_API_KEY", engineKey);
    NginxProcess started = new NginxProcess(directory, builder.start(), port);
    try {
      started.awaitListening();
    } catch (IOException | RuntimeException | Error e) {
      started.close();
      throw e;
    }
    return started;
  }

  /** Returns once it listens: nginx opens its port before it starts its worker processes. */
  private void awaitListening() throws IOException {
    WaitFor.until(
        () -> "nginx starts: " + output(),
        WaitFor.LONG,
        () -> !process.isAlive() || !workers().isEmpty());
    if (!process.isAlive()) {
      throw new IOException("nginx ended: " + output());
    }
  }

  int port() {
    return port;
  }

  /**
   * Makes nginx reload its configuration: new processes take over, and old ones finish their
   * streams.
   */
  void reload() throws IOException, InterruptedException {
    List<Long> before = workers();
    int code =
        new ProcessBuilder("kill", "-HUP", Long.toString(process.pid()))
            .inheritIO()
            .start()
            .waitFor();
    if (code != 0) {
      throw new IOException("kill -HUP: " + code + " (expected: 0)");
    }
    WaitFor.until(
        () -> "others have taken over from " + before + ": " + workers(),
        WaitFor.LONG,
        () -> workers().stream().anyMatch(each -> !before.contains(each)));
  }

  /** The worker processes, including old ones that finish their streams. */
  List<Long> workers() {
    return process.children().map(ProcessHandle::pid).toList();
  }

  String output() {
    try {
      return Files.readString(directory.resolve("output.log"));
    } catch (IOException e) {
      return e.toString();
    }
  }

  /** Stops nginx at once; open streams are cut. */
  @Override
  public void close() throws IOException {
    process.destroy();
    try {
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    if (Files.exists(directory)) {
      try (Stream<Path> files = Files.walk(directory)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
    }
  }
}
