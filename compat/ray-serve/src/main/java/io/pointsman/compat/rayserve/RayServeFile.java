package io.pointsman.compat.rayserve;

import static java.util.Objects.requireNonNull;

import io.pointsman.compat.vllmrouter.EngineControl;
import io.pointsman.config.AuthRecords;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.KvEventLabels;
import io.pointsman.config.YamlTree;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.ListenerKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.config.value.ModelPolicy;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.Raw;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Translates a Ray Serve file for LLM applications into this router's configuration. A key unknown
 * to Ray is an error, reported with the nearest name. A key without effect here is reported with
 * the reason.
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

  /**
   * A translated file.
   *
   * @param values the configuration
   * @param notes values without effect and the reasons, one line each
   */
  public record Translated(ConfigValues values, List<String> notes) {}

  private static final List<String> BACKOFF =
      List.of("initial_backoff_s", "backoff_multiplier", "max_backoff_s");

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

  /**
   * Translates a text.
   *
   * @param file name in messages, and base of relative paths
   */
  static Translated translate(
      Path file, String text, Map<String, String> environment, ConfigValues flags) {
    boolean asksForKeys = AuthRecords.from(flags).keysNeeded();
    RayServeFile reader = new RayServeFile(file, environment, asksForKeys);
    Raw root = reader.compose(file, text).orElse(new Raw.Scalar("", file.toString()));
    reader.behaviour();
    reader.top(new RayNode("", root, reader.report));
    if (!reader.report.problems.isEmpty()) {
      throw new ConfigException(reader.report.problems);
    }
    return new Translated(reader.values, List.copyOf(reader.report.notes));
  }

  /** The tree of a file. In variables for the application, Ray takes an unset one as empty. */
  private Optional<Raw> compose(Path named, String text) {
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
      values.set(FrontKeys.SESSION_HEADER, header.text().strip());
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
        : new RayNode(name, new Raw.Scalar(inherited, "environment"), report);
  }

  /** Sets behaviour of Ray that has no key. */
  private void behaviour() {
    values.set(AdminKeys.ENABLED, false);
    values.set(FleetKeys.HEALTH_ANSWER, HealthAnswer.LIVE);
    values.set(AdminKeys.REFUSED_PATHS, EngineControl.PATHS);
    values.set(FrontKeys.CORS_ENABLED, true);
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
    models(configs);
    fleet(configs);
    settings(configs);
  }

  /** The entry itself, or the contents of the file that it names. */
  private RayNode included(RayNode entry) {
    if (entry.absent() || !(entry.raw() instanceof Raw.Scalar(String path, _))) {
      return entry;
    }
    Path other = file.resolveSibling(path);
    Raw raw = compose(other, YamlTree.text(other)).orElse(new Raw.Scalar("", other.toString()));
    return new RayNode(entry.path(), raw, report);
  }

  private void models(List<RayLlmConfig> configs) {
    Set<String> names = new HashSet<>();
    for (RayLlmConfig config : configs) {
      if (!names.add(config.model)) {
        config.node().wrong("model_id: " + config.model + " (expected: each model once)");
      }
    }
    values.set(RoutingKeys.UNKNOWN_MODEL, UnknownModel.BASE_MODEL);
    configs.stream()
        .flatMap(config -> config.adaptersKept().stream())
        .max(Integer::compare)
        .ifPresent(most -> values.set(TierKeys.ADAPTERS_PER_WORKER, most));
  }

  private void fleet(List<RayLlmConfig> configs) {
    List<WorkerSpec> workers = new ArrayList<>();
    Set<String> ids = new TreeSet<>();
    RayNode discovery = discovery(configs);
    for (RayLlmConfig config : configs) {
      List<WorkerSpec> own = config.workers(configs.size() > 1 ? "LLMServer:" + config.model : "");
      for (WorkerSpec worker : own) {
        if (!ids.add(worker.id())) {
          config.node().at("workers").wrong("id: " + worker.id() + " (expected: each id once)");
        }
      }
      workers.addAll(own);
      if (discovery == null && own.isEmpty()) {
        config
            .node()
            .wrong(
                "no workers (expected: workers: a list of URLs, or discovery: keys as in"
                    + " kubernetes.*)");
      }
    }
    values.set(RoutingKeys.WORKERS, workers);
  }

  /** The discovery settings of all models, which must not differ; null if there are none. */
  private @Nullable RayNode discovery(List<RayLlmConfig> configs) {
    RayNode first = null;
    for (RayLlmConfig config : configs) {
      RayNode found = config.node().at("discovery");
      if (first == null && !found.absent()) {
        first = found;
        discover(found);
      } else if (first != null && !found.absent() && !same(found.raw(), first.raw())) {
        found.wrong("differs from another model's (expected: one for all models)");
      }
    }
    return first;
  }

  private void discover(RayNode discovery) {
    List<String> names =
        ConfigKeys.paths().stream()
            .filter(path -> path.startsWith("kubernetes."))
            .map(path -> path.substring("kubernetes.".length()))
            .toList();
    discovery.keys(names, Map.of());
    for (String name : names) {
      Key<?> key = ConfigKeys.at("kubernetes." + name);
      if (key != null && discovery.has(name)) {
        try {
          values.read(key, discovery.at(name).raw());
        } catch (ConfigException e) {
          report.problems.addAll(e.problems());
        }
      }
    }
  }

  /**
   * Router, queue and limits are set per model; all other settings must be equal for all models.
   */
  private void settings(List<RayLlmConfig> configs) {
    RayLlmConfig first = configs.getFirst();
    RayRouters.translate(first.router(), direct, values);
    heed(first, values);
    backoff(first.router());
    health(first.deployment());
    List<ModelPolicy> own = new ArrayList<>();
    for (RayLlmConfig other : configs.subList(1, configs.size())) {
      ConfigValues routing = new ConfigValues();
      RayRouters.translate(other.router(), direct, routing);
      heed(other, routing);
      if (!settings(routing).equals(settings(values))) {
        own.add(new ModelPolicy(other.model, settings(routing)));
      }
      agree(other.router(), first.router(), first.model, BACKOFF);
      agree(
          other.deployment(),
          first.deployment(),
          first.model,
          List.of(
              "health_check_period_s", "health_check_timeout_s", "graceful_shutdown_timeout_s"));
    }
    if (!own.isEmpty()) {
      values.set(RoutingKeys.MODEL_POLICIES, own);
    }
    new RayQueues(values).translate(configs);
  }

  /** Enables KV events if the model's policy uses them. */
  private void heed(RayLlmConfig config, ConfigValues routing) {
    if (routing.get(RoutingKeys.POLICY).equals(RayRouters.KV_AWARE)) {
      KvEventLabels.askOthers(values);
      config.checkWeights();
    }
  }

  private static void agree(RayNode other, RayNode first, String model, List<String> keys) {
    for (String key : keys) {
      RayNode here = other.at(key);
      if (!same(here.raw(), first.at(key).raw())) {
        here.wrong("differs from that of " + model + " (expected: the same for all models)");
      }
    }
  }

  /**
   * All routing settings of a model, including defaults; otherwise those of the first model would
   * apply.
   */
  private static Map<String, String> settings(ConfigValues routing) {
    Map<String, String> settings = new TreeMap<>();
    for (Key<?> key : RoutingKeys.ofAModel()) {
      settings.put(key.path(), written(key, routing));
    }
    return settings;
  }

  private static <T> String written(Key<T> key, ConfigValues values) {
    return key.type().format(values.get(key));
  }

  /** True if two values have the same content, regardless of their positions. */
  private static boolean same(Raw one, Raw other) {
    return switch (one) {
      case Raw.Scalar(String text, _) ->
          other instanceof Raw.Scalar(String otherText, _) && text.equals(otherText);
      case Raw.Items(List<Raw> items, _) ->
          other instanceof Raw.Items(List<Raw> others, _)
              && items.size() == others.size()
              && IntStream.range(0, items.size()).allMatch(i -> same(items.get(i), others.get(i)));
      case Raw.Entries(Map<String, Raw> entries, _) ->
          other instanceof Raw.Entries(Map<String, Raw> others, _)
              && entries.keySet().equals(others.keySet())
              && entries.keySet().stream()
                  .allMatch(
                      key ->
                          same(requireNonNull(entries.get(key)), requireNonNull(others.get(key))));
    };
  }

  private void backoff(RayNode router) {
    router
        .at("initial_backoff_s")
        .seconds(Duration.ZERO)
        .ifPresent(wait -> values.set(ForwardKeys.RETRY_INITIAL_BACKOFF, wait));
    router
        .at("backoff_multiplier")
        .number(1, 100)
        .ifPresent(factor -> values.set(ForwardKeys.RETRY_MULTIPLIER, factor));
    router
        .at("max_backoff_s")
        .seconds(MILLI)
        .ifPresent(wait -> values.set(ForwardKeys.RETRY_MAX_BACKOFF, wait));
  }

  private void health(RayNode deployment) {
    deployment
        .at("health_check_period_s")
        .seconds(Duration.ofMillis(10))
        .ifPresent(period -> values.set(FleetKeys.HEALTH_INTERVAL, period));
    deployment
        .at("health_check_timeout_s")
        .seconds(MILLI)
        .ifPresent(timeout -> values.set(FleetKeys.HEALTH_TIMEOUT, timeout));
    deployment
        .at("graceful_shutdown_timeout_s")
        .seconds(Duration.ZERO)
        .ifPresent(timeout -> values.set(OperationKeys.DRAIN_TIMEOUT, timeout));
  }
}
