package io.pointsman.compat.rayserve;

import io.pointsman.config.key.Key;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One entry of {@code llm_configs}: a model and its engines. */
final class RayLlmConfig {
  private static final String ENGINE = "the router does not start engines";
  private static final String SCALE = "the router does not start replicas";
  static final int UNLIMITED = 1_000_000_000;

  private static final String WEIGHT = "DYN_ROUTER_";
  private static final Map<String, Double> WEIGHTS =
      Map.of(
          "DYN_ROUTER_PREFILL_LOAD_SCALE", 1.0,
          "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT", 1.0,
          "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT_DECAY", 0.0,
          "DYN_ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT", 0.0);

  private static final String ADAPTERS_KEPT = "max_num_adapters_per_replica";
  private static final int MOST_ADAPTERS = 1_000_000;
  private static final Map<String, String> IDLE_LORA =
      Map.of(
          "dynamic_lora_loading_path", ENGINE,
          "download_timeout_s", ENGINE,
          "max_download_tries", ENGINE);

  private static final List<String> KEYS =
      List.of("model_loading_config", "lora_config", "deployment_config", "workers", "discovery");
  private static final Map<String, String> IDLE_KEYS =
      Map.of(
          "runtime_env", ENGINE,
          "llm_engine", ENGINE,
          "engine_kwargs", ENGINE,
          "accelerator_type", ENGINE,
          "accelerator_config", ENGINE,
          "placement_group_config", ENGINE,
          "server_cls", ENGINE,
          "experimental_configs", ENGINE,
          "log_engine_metrics", ENGINE,
          "callback_config", ENGINE);

  private static final List<String> DEPLOYMENT =
      List.of(
          "max_ongoing_requests",
          "max_queued_requests",
          "backpressure_config",
          "health_check_period_s",
          "health_check_timeout_s",
          "graceful_shutdown_timeout_s",
          "request_router_config");
  private static final Map<String, String> IDLE_DEPLOYMENT = new LinkedHashMap<>();

  static {
    for (String key :
        List.of(
            "name",
            "num_replicas",
            "autoscaling_config",
            "ray_actor_options",
            "placement_group_bundles",
            "placement_group_strategy",
            "placement_group_bundle_label_selector",
            "placement_group_fallback_strategy",
            "max_replicas_per_node",
            "gang_scheduling_config",
            "deployment_actors",
            "rolling_update_percentage",
            "max_surge_percent")) {
      IDLE_DEPLOYMENT.put(key, SCALE);
    }
    IDLE_DEPLOYMENT.put("user_config", ENGINE);
    IDLE_DEPLOYMENT.put("logging_config", "use log.*");
    IDLE_DEPLOYMENT.put("graceful_shutdown_wait_loop_s", "the router counts its own streams");
  }

  private final RayNode node;
  private final RayNode deployment;
  private final int ongoing;
  final String model;

  /**
   * @param ongoing default of the maximum requests in flight per worker
   */
  RayLlmConfig(RayNode node, int ongoing) {
    this.ongoing = ongoing;
    this.node = node.keys(KEYS, IDLE_KEYS);
    RayNode loading =
        node.at("model_loading_config")
            .keys(List.of("model_id"), Map.of("model_source", ENGINE, "tokenizer_source", ENGINE));
    model = loading.at("model_id").text();
    if (model.isEmpty()) {
      node.at("model_loading_config").wrong("no model_id (expected: the model's name)");
    }
    node.at("lora_config").keys(List.of(ADAPTERS_KEPT), IDLE_LORA);
    deployment = node.at("deployment_config").keys(DEPLOYMENT, IDLE_DEPLOYMENT);
  }

  RayNode node() {
    return node;
  }

  RayNode deployment() {
    return deployment;
  }

  RayNode router() {
    return deployment
        .at("request_router_config")
        .keys(
            List.of(
                "request_router_class",
                "request_router_kwargs",
                "initial_backoff_s",
                "backoff_multiplier",
                "max_backoff_s"),
            Map.of(
                "request_routing_stats_period_s", "the router does not ask replicas for statistics",
                "request_routing_stats_timeout_s",
                    "the router does not ask replicas for statistics",
                "ingress_router_fallback", "the proxy in front chooses its own fallback"));
  }

  /**
   * Checks the weights of {@code KVAwareRouter} in the model's environment. The policy {@code
   * kv_aware} has no weights, so any value but Ray's default is refused.
   */
  void checkWeights() {
    RayNode variables = node.at("runtime_env").at("env_vars");
    for (String name : variables.names()) {
      RayNode weight = variables.at(name);
      if (name.startsWith(WEIGHT) && !weight.absent() && !says(weight, WEIGHTS.get(name))) {
        weight.wrong(
            weight.text()
                + " is not supported: kv_aware has no weights (expected: "
                + (WEIGHTS.containsKey(name) ? WEIGHTS.get(name) + " or unset)" : "unset)"));
      }
    }
  }

  private static boolean says(RayNode written, @Nullable Double number) {
    try {
      return number != null && Double.parseDouble(written.text().strip()) == number;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  /** Number of adapters that each worker keeps loaded; empty if unset. */
  Optional<Integer> adaptersKept() {
    return node.at("lora_config").at(ADAPTERS_KEPT).whole(1, MOST_ADAPTERS);
  }

  /** Maximum requests in flight per worker; 0: unlimited. */
  int maxOngoing() {
    int most = deployment.at("max_ongoing_requests").whole(1, UNLIMITED).orElse(ongoing);
    return most == UNLIMITED ? 0 : most;
  }

  /**
   * The listed workers of the model.
   *
   * @param deploymentLabel name of the deployment as a label, for responses that contain it; empty:
   *     no label
   */
  List<WorkerSpec> workers(String deploymentLabel) {
    RayNode written = node.at("workers");
    if (written.absent() || !(written.raw() instanceof RawValue.Items)) {
      if (!written.absent()) {
        written.wrong("not a list (expected: a list of URLs, or of {id, url})");
      }
      return List.of();
    }
    List<WorkerSpec> workers = new ArrayList<>();
    for (RayNode each : written.items()) {
      WorkerSpec worker = worker(each, deploymentLabel);
      if (worker != null) {
        workers.add(worker);
      }
    }
    return workers;
  }

  private @Nullable WorkerSpec worker(RayNode each, String deploymentLabel) {
    Key<List<WorkerSpec>> key = RoutingKeys.WORKERS;
    WorkerSpec spec;
    try {
      spec =
          key.type().read(new RawValue.Items(List.of(each.raw()), each.raw().where())).getFirst();
    } catch (IllegalArgumentException e) {
      each.wrong(String.valueOf(e.getMessage()).replaceFirst("^\\[[0-9]+]:? ?", ""));
      return null;
    }
    if (spec.id().chars().anyMatch(c -> c < ' ' || c == '"' || c == '\\')) {
      each.wrong("id: " + spec.id() + " (expected: no quotes, backslashes or control characters)");
    }
    Map<String, String> labels = new LinkedHashMap<>(spec.labels());
    if (!deploymentLabel.isEmpty()) {
      labels.putIfAbsent("deployment", deploymentLabel);
    }
    return new WorkerSpec(
        spec.id(),
        spec.url(),
        spec.role(),
        spec.models().isEmpty() ? Set.of(model) : spec.models(),
        spec.rank(),
        spec.maxInFlight() > 0 ? spec.maxInFlight() : maxOngoing(),
        labels);
  }
}
