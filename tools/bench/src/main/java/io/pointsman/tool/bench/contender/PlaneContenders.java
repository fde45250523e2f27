package io.pointsman.tool.bench.contender;

import io.pointsman.tool.bench.contender.Contender.LaunchCommand;
import io.pointsman.tool.sim.FreePorts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/**
 * This project's router behind HAProxy or nginx, as shipped, and without the record of first
 * tokens. Router and proxy are children of one shell, so the two are measured together.
 */
public final class PlaneContenders {
  private static final String READS = "its head is read by the router";
  private static final Path LUA_MODULE = Path.of("/usr/lib/nginx/modules/ngx_http_lua_module.so");

  /**
   * Starts the router behind the proxy. {@code $1} is the port of its admin listener, {@code $2}
   * its SPOE port, {@code $3} the workers.
   */
  private static final String ROUTER =
      " serve --policy cache_aware --log-level error --host 127.0.0.1 --port 0 --admin-port $1"
          + " --metrics-port 0 --decide-spoe-address 127.0.0.1:$2 --workers \"$3\" & ";

  /** Ends the router when the proxy ends by itself, for example because its port is taken. */
  private static final String END = "; code=$?; kill -KILL $!; wait; exit $code";

  private final Path home;

  /** Start of this program's command line, quoted for a shell. */
  private final String program;

  /**
   * Creates the contenders with the launcher.
   *
   * @param home root of the repository
   */
  public PlaneContenders(Path home) {
    this(home, List.of(home.resolve("pointsman").toString()));
  }

  /**
   * Creates the contenders with another command than the launcher.
   *
   * @param home root of the repository
   * @param start first words of the command line
   */
  public PlaneContenders(Path home, List<String> start) {
    this.home = home;
    program = start.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
  }

  /** All contenders, in the order of the tables. */
  public List<Contender> all() {
    return List.of(
        haproxy("haproxy-plane", ""),
        haproxy("haproxy-plane-no-first-token", "--no-first-token"),
        nginx("nginx-plane", true),
        nginx("nginx-plane-no-first-token", false));
  }

  private Contender haproxy(String name, String flag) {
    Contender plain = plain("haproxy");
    String script =
        program
            + ROUTER
            + program
            + " haproxy --listen 127.0.0.1:$4 --router http://127.0.0.1:$1"
            + " --spoe 127.0.0.1:$2 --max-connections $5 "
            + flag
            + END;
    return new Contender(
        name,
        READS,
        plain.version(),
        plain.missing(),
        false,
        place ->
            launch(place, script, FreePorts.next(), Integer.toString(1024 + 2 * place.streams())));
  }

  private Contender nginx(String name, boolean firstToken) {
    Contender plain = plain("nginx");
    String user = System.getProperty("user.name").equals("root") ? "user root; " : "";
    String script =
        program
            + ROUTER
            + "nginx -p \"$5\" -c \"$5/nginx.conf\" -g '"
            + user
            + "daemon off;'"
            + END;
    return new Contender(
        name,
        READS,
        plain.version(),
        Files.exists(LUA_MODULE) ? plain.missing() : "nginx's Lua module is not installed",
        false,
        place -> {
          int router = FreePorts.next();
          Path sources = home.resolve("planes/nginx");
          Files.copy(sources.resolve("pointsman.lua"), place.directory().resolve("pointsman.lua"));
          Files.writeString(
              place.directory().resolve("nginx.conf"),
              configuration(
                  Files.readString(sources.resolve("nginx.conf")), place, router, firstToken));
          return launch(place, script, router, place.directory().toString());
        });
  }

  private static String configuration(
      String template, StartParameters place, int router, boolean firstToken) {
    String filled =
        template
            .replace("@DIRECTORY@", place.directory().toString())
            .replace("@LISTEN@", "127.0.0.1:" + place.listen())
            .replace("@ROUTER_HOST@", "127.0.0.1")
            .replace("@ROUTER_PORT@", Integer.toString(router))
            .replace("@TTL_MS@", "60000")
            .replace("worker_processes auto", "worker_processes " + place.cores())
            .replace(
                "worker_connections 4096", "worker_connections " + (4 * place.streams() + 1024));
    return firstToken
        ? filled
        : filled.replaceFirst("\\s*body_filter_by_lua_block \\{[^}]*\\}", "");
  }

  private static LaunchCommand launch(
      StartParameters place, String script, int router, String last) {
    return LaunchCommand.of(
        List.of(
            "/bin/sh",
            "-c",
            script,
            "sh",
            Integer.toString(router),
            place.metrics(),
            String.join(",", place.workers()),
            place.listen(),
            last));
  }

  private Contender plain(String name) {
    return new Contenders(home)
        .all().stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }
}
