package io.pointsman.compat.rayserve;

import io.pointsman.compat.vllmrouter.EngineControl;
import io.pointsman.config.AuthRecords;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.YamlTree;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.ListenerKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Translates a Ray Serve file for LLM applications into this router's configuration. A key unknown
 * to Ray is an error, reported with the nearest name. A key without effect here is reported with
 * the reason. It has a method for each section of the file, in the order of the file.
 */
public final class RayServeFile {
  private static final int MAX_DEPTH = 32;
  private static final String CLIENTS_KEY = "VLLM_API_KEY";
  private static final String NO_KEYS =
      "is not supported: use --auth-keys-file or --auth-keys-env, or --auth-validation-urls for"
          + " servers that validate keys";
  private static final String SESSION_HEADER = "RAY_SERVE_SESSION_ID_HEADER_KEY";
  private static final String MAX_ONGOING = "RAY_SERVE_LLM_DEFAULT_MAX_ONGOING_REQUESTS";
  private static final String DIRECT_STREAMING = "RAY_SERVE_LLM_ENABLE_DIRECT_STREAMING";
  private static final String FIRST_BYTE_TIMEOUT = "RAY_SERVE_LLM_ROUTER_HTTP_TIMEOUT";

  /** Default of files; applications started from Python listen on loopback. */
  private static final String HOST = "0.0.0.0";

  private static final int PORT = 8000;

  /** Ray's name for an application without a name. */
  private static final String APPLICATION = "default";

  private static final Duration MILLI = Duration.ofMillis(1);
  private static final String CLUSTER = "the router does not use a Ray cluster";

  private static final List<String> BUILDERS =
      List.of("ray.serve.llm:build_openai_app", "ray.serve.llm:build_dp_openai_app");
  private static final String PD_BUILDER = "ray.serve.llm:build_pd_openai_app";

  /** The shortest valid file. */
  private static final String SHORTEST =
      """
      applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
          - model_loading_config: {model_id: m}
            workers: ["http://engine:8000"]
      """;

  /**
   * A translated file.
   *
   * @param values the configuration
   * @param notes values without effect and the reasons, one line each
   */
  public record Translated(ConfigValues values, List<String> notes) {}

  private final RayReport report = new RayReport();
  private final ConfigValues values = new ConfigValues();
  private final Path file;
  private final Map<String, String> environment;
  private final boolean asksForKeys;
  private boolean direct;
  private int ongoing = RayLlmConfig.UNLIMITED;

  private RayServeFile(Path file, Map<String, String> environment, boolean asksForKeys) {
    this.file = file;
    this.environment = environment;
    this.asksForKeys = asksForKeys;
  }

  /**
   * Reads and translates a file.
   *
   * @param environment environment variables of the process
   * @param flags values of our own flags
   * @throws ConfigException with all reasons, if the file cannot be read or honoured
   */
  public static Translated read(Path file, Map<String, String> environment, ConfigValues flags) {
    return translate(file, YamlTree.text(file), environment, flags);
  }

  /** The values of a file that sets nothing but its workers, without these. */
  public static ConfigValues defaults() {
    ConfigValues values =
        translate(Path.of("serve.yaml"), SHORTEST, Map.of(), new ConfigValues()).values();
    return values.set(RoutingKeys.WORKERS, RoutingKeys.WORKERS.defaultValue());
  }

  /**
   * Translates a text.
   *
   * @param file name in messages, and base of relative paths
   */
  static Translated translate(
      Path file, String text, Map<String, String> environment, ConfigValues flags) {
    boolean asksForKeys = AuthRecords.from(flags).keysNeeded();
    RayServeFile reader = new RayServeFile(file, environment, asksForKeys);
    RawValue root = reader.compose(file, text).orElse(new RawValue.Scalar("", file.toString()));
    reader.behaviour();
    reader.top(new RayNode("", root, reader.report));
    if (!reader.report.problems.isEmpty()) {
      throw new ConfigException(reader.report.problems);
    }
    return new Translated(reader.values, List.copyOf(reader.report.notes));
  }

  /** The tree of a file. In variables for the application, Ray takes an unset one as empty. */
  private Optional<RawValue> compose(Path named, String text) {
    return YamlTree.compose(
        named.toString(), text, MAX_DEPTH, environment, "env_vars", report.problems);
  }

  /**
   * Reads the variables that Ray reads from its processes' environment.
   *
   * @param ofApplication variables that the file sets for the application; they win
   */
  private void environment(RayNode ofApplication) {
    RayNode header = variable(SESSION_HEADER, ofApplication);
    if (!header.text().isBlank()) {
      values.set(HeaderKeys.SESSION_HEADER, header.text().strip());
    }
    variable(FIRST_BYTE_TIMEOUT, ofApplication)
        .seconds(MILLI)
        .ifPresent(time -> values.set(ForwardKeys.FIRST_BYTE_TIMEOUT, time));
    ongoing =
        variable(MAX_ONGOING, ofApplication)
            .whole(1, RayLlmConfig.UNLIMITED)
            .orElse(RayLlmConfig.UNLIMITED);
    direct = variable(DIRECT_STREAMING, ofApplication).text().strip().equals("1");
    // Ray admits only clients with this key; without the check, this router would admit all.
    RayNode key = variable(CLIENTS_KEY, ofApplication);
    if (!key.text().isBlank() && !asksForKeys) {
      key.wrong(NO_KEYS);
    }
  }

  private RayNode variable(String name, RayNode ofApplication) {
    String inherited = environment.getOrDefault(name, "").strip();
    return ofApplication.has(name)
        ? ofApplication.at(name)
        : new RayNode(name, new RawValue.Scalar(inherited, "environment"), report);
  }

  /** Sets behaviour of Ray that has no key. */
  private void behaviour() {
    values.set(AdminKeys.ENABLED, false);
    values.set(FleetKeys.HEALTH_ANSWER, HealthAnswer.LIVE);
    values.set(AdminKeys.REFUSED_PATHS, EngineControl.PATHS);
    values.set(HeaderKeys.CORS_ENABLED, true);
    // Ray has no metrics listener, so another process may use the default port.
    values.set(OperationKeys.METRICS_PORT, 0);
    values.set(FleetKeys.HEALTH_TIMEOUT, Duration.ofSeconds(10));
    values.set(ForwardKeys.RETRY_INITIAL_BACKOFF, Duration.ofMillis(25));
    values.set(ForwardKeys.RETRY_MULTIPLIER, 2.0);
    values.set(ForwardKeys.FIRST_BYTE_TIMEOUT, Duration.ofMinutes(10));
    values.set(ForwardKeys.IDLE_TIMEOUT, Duration.ZERO);
    values.set(ForwardKeys.TOTAL_TIMEOUT, Duration.ZERO);
    values.set(ForwardKeys.STREAM_TOTAL_TIMEOUT, Duration.ZERO);
  }

  private void top(RayNode root) {
    if (root.absent()) {
      report.problems.add(file + ": empty (expected: applications)");
      return;
    }
    root.keys(
        List.of("http_options", "applications"),
        Map.of(
            "proxy_location",
            CLUSTER,
            "grpc_options",
            "the router does not serve gRPC",
            "controller_options",
            CLUSTER,
            "logging_config",
            "use log.*",
            "tracing_config",
            "use tracing.*",
            "target_capacity",
            CLUSTER));
    http(root.at("http_options"));
    List<RayNode> applications = root.at("applications").items();
    if (applications.size() == 1) {
      application(applications.getFirst());
    } else {
      root.at("applications").wrong(applications.size() + " (expected: one application)");
    }
  }

  private void http(RayNode http) {
    http.keys(
        List.of(
            "host",
            "port",
            "request_timeout_s",
            "keep_alive_timeout_s",
            "root_path",
            "ssl_keyfile",
            "ssl_certfile",
            "ssl_keyfile_password",
            "ssl_ca_certs"),
        Map.of(
            "location",
            CLUSTER,
            "num_cpus",
            CLUSTER,
            "middlewares",
            "the router does not run Ray's middlewares"));
    values.set(FrontKeys.PORT, http.at("port").whole(0, 65_535).orElse(PORT));
    values.set(FrontKeys.HOST, http.has("host") ? http.at("host").text() : HOST);
    http.at("request_timeout_s")
        .seconds(MILLI)
        .ifPresent(
            limit -> {
              values.set(ForwardKeys.TOTAL_TIMEOUT, limit);
              values.set(ForwardKeys.STREAM_TOTAL_TIMEOUT, limit);
            });
    http.at("keep_alive_timeout_s")
        .seconds(MILLI)
        .ifPresent(limit -> values.set(ForwardKeys.CLIENT_IDLE_TIMEOUT, limit));
    prefix(http.at("root_path"));
    tls(http, "ssl_certfile", ListenerKeys.CERTIFICATE_FILE);
    tls(http, "ssl_keyfile", ListenerKeys.KEY_FILE);
    tls(http, "ssl_keyfile_password", ListenerKeys.KEY_PASSWORD);
    tls(http, "ssl_ca_certs", ListenerKeys.CLIENT_CA_FILE);
  }

  private void tls(RayNode http, String name, Key<String> key) {
    if (!http.has(name)) {
      return;
    }
    if (http.has("ssl_certfile")) {
      values.set(key, http.at(name).text());
    } else {
      http.at(name).wrong("is set without ssl_certfile");
    }
  }

  private static void prefix(RayNode prefix) {
    if (!prefix.absent() && !prefix.text().equals("/")) {
      prefix.wrong(prefix.text() + " is not supported (expected: /)");
    }
  }

  private void application(RayNode application) {
    application.keys(
        List.of("name", "route_prefix", "import_path", "args", "deployments"),
        Map.of(
            "runtime_env",
                "the router does not run it, but reads the env_vars in docs/migrate/ray-serve.md",
            "host", CLUSTER,
            "port", CLUSTER,
            "autoscaling_policy", CLUSTER,
            "external_scaler_enabled", CLUSTER,
            "logging_config", "use log.*"));
    environment(application.at("runtime_env").at("env_vars"));
    String called = application.at("name").text();
    values.set(AdminKeys.RAY_APPLICATION, called.isBlank() ? APPLICATION : called.strip());
    prefix(application.at("route_prefix"));
    RayNode builder = application.at("import_path");
    if (builder.text().equals(PD_BUILDER)) {
      builder.wrong(PD_BUILDER + " is not supported yet: prefill and decode of one model");
    } else if (!BUILDERS.contains(builder.text())) {
      builder.wrong(
          (builder.absent() ? "missing" : builder.text() + ": unknown builder")
              + Nearest.to(builder.text(), BUILDERS)
                  .map(name -> " (did you mean " + name + "?)")
                  .orElse(" (expected: one of " + String.join(", ", BUILDERS) + ")"));
    }
    if (!application.at("deployments").items().isEmpty()) {
      application
          .at("deployments")
          .wrong("is not supported (expected: deployment_config of the llm_configs)");
    }
    arguments(application.at("args"));
  }

  private void arguments(RayNode args) {
    String ingress = "the router is the ingress";
    args.keys(
        List.of("llm_configs", "api_key"),
        Map.of("ingress_cls_config", ingress, "ingress_deployment_config", ingress));
    if (args.has("api_key")) {
      args.at("api_key").wrong(NO_KEYS);
    }
    List<RayLlmConfig> configs = new ArrayList<>();
    for (RayNode each : args.at("llm_configs").items()) {
      configs.add(new RayLlmConfig(included(each), ongoing));
    }
    if (configs.isEmpty()) {
      args.at("llm_configs").wrong("none (expected: at least one model)");
      return;
    }
    new RayModels(values, report, direct).translate(configs);
  }

  /** The entry, or the contents of the file that it names. */
  private RayNode included(RayNode entry) {
    if (entry.absent() || !(entry.raw() instanceof RawValue.Scalar(String path, _))) {
      return entry;
    }
    Path other = file.resolveSibling(path);
    RawValue raw =
        compose(other, YamlTree.text(other)).orElse(new RawValue.Scalar("", other.toString()));
    return new RayNode(entry.path(), raw, report);
  }
}
