package io.pointsman.compat.rayserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.pointsman.compat.rayserve.RayServeFile.Translated;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RayServeFileTest {
  private static final Path FILE = Path.of("serve.yaml");

  private static final String HEAD =
      """
      applications:
      - name: llm_app
        route_prefix: "/"
        import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
          - model_loading_config: {model_id: m}
            workers: ["http://a:1", {id: r2, url: "http://b:2"}]
      """;

  private static Translated translate(String yaml) {
    return RayServeFile.translate(FILE, yaml, Map.of(), new ConfigValues());
  }

  private static ConfigValues values(String yaml) {
    ConfigValues values = translate(yaml).values();
    PointsmanConfig.from(values);
    return values;
  }

  /** An application with a {@code deployment_config}. */
  private static String deployment(String yaml) {
    return HEAD + "      deployment_config:\n" + yaml.indent(8);
  }

  private static String router(String type, String kwargs) {
    return deployment(
        "request_router_config:\n  request_router_class: %s\n  request_router_kwargs: %s"
            .formatted(type, kwargs));
  }

  private static void refused(String yaml, String... problems) {
    assertThatThrownBy(() -> translate(yaml))
        .asInstanceOf(type(ConfigException.class))
        .satisfies(e -> assertThat(String.join("\n", e.problems())).contains(problems));
  }

  @Test
  void workersAreThoseOfTheModel() {
    List<WorkerSpec> workers = values(HEAD).get(RoutingKeys.WORKERS);

    assertThat(workers).extracting(WorkerSpec::id).containsExactly("a:1", "r2");
    assertThat(workers).extracting(WorkerSpec::url).containsExactly("http://a:1", "http://b:2");
    assertThat(workers).allSatisfy(worker -> assertThat(worker.models()).containsExactly("m"));
    assertThat(workers).allSatisfy(worker -> assertThat(worker.maxInFlight()).isZero());
    assertThat(workers).allSatisfy(worker -> assertThat(worker.labels()).isEmpty());
  }

  @Test
  void theDefaultIsPowerOfTwoOnPort8000() {
    ConfigValues values = values(HEAD);

    assertThat(values.get(RoutingKeys.POLICY)).isEqualTo("power_of_two");
    assertThat(values.get(FrontKeys.HOST)).isEqualTo("0.0.0.0");
    assertThat(values.get(FrontKeys.PORT)).isEqualTo(8000);
    assertThat(values.get(AdminKeys.ENABLED)).isFalse();
    assertThat(values.get(FleetKeys.HEALTH_ANSWER)).isEqualTo(HealthAnswer.LIVE);
    assertThat(values.get(AdminKeys.RAY_APPLICATION)).isEqualTo("llm_app");
    assertThat(values.get(OperationKeys.METRICS_PORT)).isZero();
    assertThat(values.get(HeaderKeys.CORS_ENABLED)).isTrue();
    assertThat(values.get(HeaderKeys.CORS_ORIGINS)).isEmpty();
    assertThat(values.get(HeaderKeys.SESSION_HEADER)).isEqualTo("x-session-id");
    assertThat(values.get(QueueKeys.MAX_CONCURRENT)).isZero();
    assertThat(values.get(RoutingKeys.UNKNOWN_MODEL)).isEqualTo(UnknownModel.BASE_MODEL);
    assertThat(translate(HEAD).notes()).isEmpty();
  }

  @Test
  void probesAndTimeoutsDefaultToRays() {
    ConfigValues values = values(HEAD);
    assertThat(values.get(FleetKeys.HEALTH_TIMEOUT)).isEqualTo(Duration.ofSeconds(10));
    assertThat(values.get(ForwardKeys.RETRY_INITIAL_BACKOFF)).isEqualTo(Duration.ofMillis(25));
    assertThat(values.get(ForwardKeys.RETRY_MULTIPLIER)).isEqualTo(2);
  }

  @Test
  void theEnvironmentMayLimitModelsThatSetNoLimit() {
    Map<String, String> environment = Map.of("RAY_SERVE_LLM_DEFAULT_MAX_ONGOING_REQUESTS", "7");
    assertThat(mostInFlight(HEAD, environment)).containsExactly(7, 7);
    assertThat(mostInFlight(deployment("max_ongoing_requests: 9"), environment))
        .containsExactly(9, 9);
  }

  private static List<Integer> mostInFlight(String yaml, Map<String, String> environment) {
    return RayServeFile.translate(FILE, yaml, environment, new ConfigValues())
        .values()
        .get(RoutingKeys.WORKERS)
        .stream()
        .map(WorkerSpec::maxInFlight)
        .toList();
  }

  @Test
  void directStreamingDefaultsToRoundRobin() {
    String variable = "RAY_SERVE_LLM_ENABLE_DIRECT_STREAMING";
    String inFile = HEAD + "  runtime_env: {env_vars: {" + variable + ": \"1\"}}\n";

    assertThat(values(inFile).get(RoutingKeys.POLICY)).isEqualTo("round_robin");
    assertThat(policy(HEAD, Map.of(variable, "1"))).isEqualTo("round_robin");
    assertThat(policy(HEAD, Map.of(variable, "0"))).isEqualTo("power_of_two");
    String written = deployment("request_router_config: {max_backoff_s: 1}");
    assertThat(policy(written, Map.of(variable, "1"))).isEqualTo("power_of_two");
  }

  private static String policy(String yaml, Map<String, String> environment) {
    return RayServeFile.translate(FILE, yaml, environment, new ConfigValues())
        .values()
        .get(RoutingKeys.POLICY);
  }

  @ParameterizedTest
  @CsvSource({
    "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter, power_of_two",
    "ray.serve._private.request_router.PowerOfTwoChoicesRequestRouter, power_of_two",
    "ray.serve.experimental.round_robin_router.RoundRobinRouter, round_robin",
    "ray.serve.experimental.round_robin_router:RoundRobinRouter, round_robin",
    "ray.serve.llm.request_router.PrefixCacheAffinityRouter, cache_aware",
    "ray.serve.experimental.consistent_hash_router.ConsistentHashRouter, ray_consistent_hash",
    "ray.serve.llm.request_router.KVAwareRouter, kv_aware",
    "ray.serve.llm.request_router:KVAwareRouter, kv_aware",
    "ConsistentHashRouter, ray_consistent_hash"
  })
  void raysClassesBecomePolicies(String type, String policy) {
    assertThat(values(router(type, "{}")).get(RoutingKeys.POLICY)).isEqualTo(policy);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ray.serve.llm.PrefixCacheAfinityRouter|unknown class (did you mean"
            + " PrefixCacheAffinityRouter?)",
        "ray.serve.RoundRobbinRouter|unknown class (did you mean RoundRobinRouter?)",
        "mine:RoundRobinRouter|mine:RoundRobinRouter: unknown class",
        "ray.serve.experimental.capacity_queue_router.CapacityQueueRouter|is not supported"
      })
  void otherClassesAreErrors(String type, String problem) {
    refused(router(type, "{}"), "serve.yaml:11: ", "request_router_class: ", problem);
  }

  @Test
  void aUsersClassKeepsItsName() {
    assertThat(values(router("com.example.MyPolicy", "{}")).get(RoutingKeys.POLICY))
        .isEqualTo("com.example.MyPolicy");
    refused(router("com.example.MyPolicy", "{x: 1}"), "x: unknown key");
  }

  @Test
  void prefixArgumentsBecomeThresholds() {
    ConfigValues values =
        values(
            router(
                "ray.serve.llm.request_router.PrefixCacheAffinityRouter",
                "{imbalanced_threshold: 10, match_rate_threshold: 0.25}"));

    assertThat(values.get(RoutingKeys.BALANCE_ABS)).isEqualTo(10);
    assertThat(values.get(RoutingKeys.BALANCE_REL)).isEqualTo(1.0);
    assertThat(values.get(RoutingKeys.CACHE_THRESHOLD)).isEqualTo(Math.nextDown(0.25));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{imbalanced_threshold: .inf}", "{imbalanced_threshold: Infinity}"})
  void aPrefixIsFollowedAtAnyLoadWithoutAThreshold(String kwargs) {
    ConfigValues values =
        values(router("ray.serve.llm.request_router.PrefixCacheAffinityRouter", kwargs));

    assertThat(values.get(RoutingKeys.BALANCE_ABS)).isEqualTo(Integer.MAX_VALUE);
    assertThat(values.get(RoutingKeys.CACHE_THRESHOLD)).isEqualTo(Math.nextDown(0.1));
  }

  @Test
  void evictionIsReportedWithoutEffect() {
    String yaml =
        router(
            "ray.serve.llm.request_router.PrefixCacheAffinityRouter",
            "{do_eviction: true, eviction_threshold_chars: 400000, eviction_interval_secs: 10}");

    assertThat(translate(yaml).notes())
        .hasSize(3)
        .allMatch(note -> note.contains("no effect here: use cache.index-max-bytes"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{virtual_nodes: 50, fallback_replicas: 3}",
        "{num_virtual_nodes: 50, num_fallback_replicas: 3}",
        "{num_virtual_nodes: 50, virtual_nodes: 50, fallback_replicas: 3}"
      })
  void ringArgumentsAreReadInBothSpellings(String kwargs) {
    ConfigValues values = values(router("ray.ConsistentHashRouter", kwargs));

    assertThat(values.get(RoutingKeys.RAY_VIRTUAL_NODES)).isEqualTo(50);
    assertThat(values.get(RoutingKeys.RAY_FALLBACK_WORKERS)).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "ray.ConsistentHashRouter|{virtual_node: 5}|virtual_node: unknown key (did you mean"
            + " virtual_nodes?)",
        "ray.ConsistentHashRouter|{virtual_nodes: 0}|0 (expected: a number from 1 to 10000)",
        "ray.ConsistentHashRouter|{virtual_nodes: 1.5}|1.5 (expected: a whole number)",
        "ray.ConsistentHashRouter|{virtual_nodes: 5, num_virtual_nodes: 6}|virtual_nodes: 5"
            + " (expected: 6, as in num_virtual_nodes, or only one)",
        "ray.PrefixCacheAffinityRouter|{match_rate_treshold: 0.1}|match_rate_treshold: unknown key"
            + " (did you mean match_rate_threshold?)",
        "ray.PrefixCacheAffinityRouter|{match_rate_threshold: 2}|2 (expected: a number from 0 to"
            + " 1)",
        "ray.PrefixCacheAffinityRouter|[1]|not a group of keys (expected: key: value)",
        "ray.RoundRobinRouter|{seed: 1}|seed: unknown key"
      })
  void argumentsThatAreWrongAreErrors(String type, String kwargs, String problem) {
    refused(router(type, kwargs), "request_router_kwargs", problem);
  }

  @Test
  void theDeploymentsLimitsAreHonoured() {
    ConfigValues values =
        values(
            deployment(
                """
                max_ongoing_requests: 32
                max_queued_requests: 7
                backpressure_config: {status_code: 429}
                health_check_period_s: 3
                health_check_timeout_s: 2.5
                graceful_shutdown_timeout_s: 40
                request_router_config:
                  initial_backoff_s: 0.05
                  backoff_multiplier: 3
                  max_backoff_s: 1
                """));

    assertThat(values.get(RoutingKeys.WORKERS)).allMatch(worker -> worker.maxInFlight() == 32);
    assertThat(values.get(QueueKeys.MAX_CONCURRENT)).isEqualTo(64);
    assertThat(values.get(QueueKeys.QUEUE_SIZE)).isEqualTo(7);
    assertThat(values.get(QueueKeys.QUEUE_FULL_STATUS)).isEqualTo(429);
    assertThat(values.get(FleetKeys.HEALTH_INTERVAL)).isEqualTo(Duration.ofSeconds(3));
    assertThat(values.get(FleetKeys.HEALTH_TIMEOUT)).isEqualTo(Duration.ofMillis(2500));
    assertThat(values.get(OperationKeys.DRAIN_TIMEOUT)).isEqualTo(Duration.ofSeconds(40));
    assertThat(values.get(ForwardKeys.RETRY_INITIAL_BACKOFF)).isEqualTo(Duration.ofMillis(50));
    assertThat(values.get(ForwardKeys.RETRY_MULTIPLIER)).isEqualTo(3);
    assertThat(values.get(ForwardKeys.RETRY_MAX_BACKOFF)).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void theStatusWithoutBackpressureConfigIs503() {
    assertThat(values(HEAD).get(QueueKeys.QUEUE_FULL_STATUS)).isEqualTo(503);
  }

  @Test
  void timeLimitsAreThoseOfRay() {
    TimeoutSettings limits = PointsmanConfig.from(values(HEAD)).proxy().timeouts();
    assertThat(limits.firstByte()).isEqualTo(Duration.ofMinutes(10));
    assertThat(limits.idle()).isZero();
    assertThat(limits.total()).isZero();
    assertThat(limits.streamTotal()).isZero();

    limits =
        PointsmanConfig.from(values("http_options: {request_timeout_s: 3600}\n" + HEAD))
            .proxy()
            .timeouts();
    assertThat(limits.firstByte()).isEqualTo(Duration.ofMinutes(10));
    assertThat(limits.idle()).isZero();
    assertThat(limits.total()).isEqualTo(Duration.ofHours(1));
    assertThat(limits.streamTotal()).isEqualTo(Duration.ofHours(1));
  }

  @Test
  void theResponseTimeoutCanComeFromTheEnvironment() {
    String name = "RAY_SERVE_LLM_ROUTER_HTTP_TIMEOUT";
    assertThat(
            RayServeFile.translate(FILE, HEAD, Map.of(name, "1800.5"), new ConfigValues())
                .values()
                .get(ForwardKeys.FIRST_BYTE_TIMEOUT))
        .isEqualTo(Duration.ofMillis(1_800_500));
    assertThatThrownBy(
            () -> RayServeFile.translate(FILE, HEAD, Map.of(name, "long"), new ConfigValues()))
        .hasMessageContaining(name + ": long");
  }

  @Test
  void certificatesAreThoseOfTheProxies() {
    String options =
        """
        http_options:
          ssl_certfile: a.crt
          ssl_keyfile: a.key
          ssl_keyfile_password: secret
          ssl_ca_certs: clients.crt
        """;
    assertThat(PointsmanConfig.from(values(options + HEAD)).proxy().listen().tls())
        .isEqualTo(
            new ServerTlsSettings(
                "a.crt",
                "a.key",
                "secret",
                "clients.crt",
                ClientCertificates.REQUIRED,
                ServerTlsSettings.OFF.handshakeTimeout()));
    refused(
        "http_options: {ssl_keyfile: a.key}\n" + HEAD,
        "http_options.ssl_keyfile: is set without ssl_certfile");
  }

  @Test
  void keysOfRay260AreKnown() {
    String yaml =
        """
        proxy_location: EveryNode
        http_options: {host: 127.0.0.2, port: 8123, request_timeout_s: 30, keep_alive_timeout_s: 9}
        grpc_options: {port: 9000}
        target_capacity: 50
        """
            + deployment(
                """
                num_replicas: 2
                autoscaling_config: {min_replicas: 1, max_replicas: 4}
                max_surge_percent: 50
                rolling_update_percentage: 0.5
                gang_scheduling_config: {}
                backpressure_config: {status_code: 503, retry_after_s: 2}
                """)
            + "      engine_kwargs: {tensor_parallel_size: 2}\n"
            + "      accelerator_type: H100\n";

    Translated translated = translate(yaml);

    assertThat(translated.values().get(FrontKeys.PORT)).isEqualTo(8123);
    assertThat(translated.values().get(FrontKeys.HOST)).isEqualTo("127.0.0.2");
    assertThat(translated.values().get(ForwardKeys.TOTAL_TIMEOUT))
        .isEqualTo(Duration.ofSeconds(30));
    assertThat(translated.values().get(ForwardKeys.CLIENT_IDLE_TIMEOUT))
        .isEqualTo(Duration.ofSeconds(9));
    assertThat(String.join("\n", translated.notes()))
        .contains(
            "proxy_location: no effect here: ",
            "grpc_options: no effect here: ",
            "target_capacity: no effect here: ",
            "deployment_config.num_replicas: no effect here: ",
            "deployment_config.autoscaling_config: no effect here: ",
            "deployment_config.max_surge_percent: no effect here: ",
            "deployment_config.rolling_update_percentage: no effect here: ",
            "backpressure_config.retry_after_s: no effect here: ",
            "engine_kwargs: no effect here: ",
            "accelerator_type: no effect here: ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "max_ongoing_request: 5|max_ongoing_request: unknown key (did you mean"
            + " max_ongoing_requests?)",
        "max_ongoing_requests: 0|0 (expected: a number from 1 to",
        "max_queued_requests: -2|-2 (expected: a number from -1 to 1000000)",
        "backpressure_config: {status_code: 500}|500 (expected: 503 or 429)",
        "backpressure_config: {retry_after: 5}|retry_after: unknown key (did you mean"
            + " retry_after_s?)",
        "request_router_config: {router_class: x}|router_class: unknown key",
        "health_check_period_s: soon|soon (expected: a number from"
      })
  void aWrongDeploymentIsAnError(String yaml, String problem) {
    refused(deployment(yaml), problem);
  }

  @Test
  void allProblemsAreReportedTogether() {
    refused(
        HEAD.replace("route_prefix: \"/\"", "route_prefix: /llm")
                .replace("build_openai_app", "build_openai_ap")
            + "          model_laoding_config: {}\n".substring(4)
            + "    api_key: secret\n"
            + "aplications: []\n",
        "route_prefix: /llm is not supported",
        "unknown builder (did you mean ray.serve.llm:build_openai_app?)",
        "model_laoding_config: unknown key (did you mean model_loading_config?)",
        "api_key: is not supported",
        "aplications: unknown key (did you mean applications?)");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "[]|llm_configs: none (expected: at least one model)",
        "[{model_loading_config: {model_id: m}}]|no workers (expected: workers:",
        "[{workers: ['http://a:1']}]|no model_id",
        "[{model_loading_config: {model_id: m}, workers: 'http://a:1'}]|not a list (expected: a"
            + " list",
        "[{model_loading_config: {model_id: m}, workers: ['a:1']}]|(expected: http://host:port",
        "[{model_loading_config: {model_id: m}, workers: [{uri: 'http://a:1'}]}]|uri: unknown key",
        "[{model_loading_config: {model_id: m}, workers: ['http://a:1', 'http://a:1']}]|id: a:1:"
            + " two workers at http://a:1 have this id (expected: one of them, or in a file an id"
            + " for each: {url: http://a:1, id: NAME})",
        "[{model_loading_config: {model_id: m}, workers: ['http://a:1']}, {model_loading_config:"
            + " {model_id: n}, workers: ['https://a:1']}]|id: a:1: http://a:1 and https://a:1 have"
            + " this id"
      })
  void modelsAndWorkersThatAreWrongAreErrors(String configs, String problem) {
    refused(
        "applications:\n- import_path: ray.serve.llm:build_openai_app\n  args: {llm_configs: "
            + configs
            + "}\n",
        problem);
  }

  @Test
  void severalModelsHaveTheirOwnWorkersAndDeployments() {
    String second =
        """
            - model_loading_config: {model_id: n}
              workers: ["http://c:3"]
        """;
    List<WorkerSpec> workers = values(HEAD + second).get(RoutingKeys.WORKERS);

    assertThat(workers).hasSize(3);
    assertThat(workers.get(0).labels()).isEqualTo(Map.of("deployment", "LLMServer:m"));
    assertThat(workers.get(2).models()).isEqualTo(Set.of("n"));
    assertThat(workers.get(2).labels()).isEqualTo(Map.of("deployment", "LLMServer:n"));
    refused(HEAD + second.replace("model_id: n", "model_id: m"), "model_id: m (expected: each");
    refused(
        HEAD + second + "      deployment_config: {health_check_period_s: 3}\n",
        "health_check_period_s: differs from that of m");
  }

  private static String second(String deployment) {
    return """
        - model_loading_config: {model_id: n}
          workers: ["http://c:3"]
          deployment_config: {%s}
    """
        .formatted(deployment);
  }

  private static String routed(String type, String kwargs) {
    return "request_router_config: {request_router_class: "
        + type
        + ", request_router_kwargs: {"
        + kwargs
        + "}}";
  }

  @Test
  void everyModelHasTheRouterThatItNames() {
    ConfigValues values =
        values(
            HEAD
                + second(
                    routed("ray.serve.llm.PrefixCacheAffinityRouter", "imbalanced_threshold: 7")));
    PointsmanConfig config = PointsmanConfig.from(values);

    assertThat(config.policy()).isEqualTo("power_of_two");
    assertThat(config.models()).hasSize(1);
    assertThat(config.models().getFirst().model()).isEqualTo("n");
    assertThat(config.models().getFirst().policy()).isEqualTo("cache_aware");
    assertThat(config.models().getFirst().policies().cacheAware().balanceAbsThreshold())
        .isEqualTo(7);
    assertThat(config.policies().cacheAware()).isEqualTo(CacheAwareSettings.DEFAULTS);
  }

  @Test
  void modelsWithTheSameRouterShareIt() {
    assertThat(values(HEAD + second("")).get(RoutingKeys.MODEL_POLICIES)).isEmpty();
  }

  @Test
  void anInvalidRouterOfALaterModelIsAnError() {
    refused(
        HEAD + second(routed("ray.serve.llm.PrefixCacheAfinityRouter", "")),
        "unknown class (did you mean PrefixCacheAffinityRouter?)");
    refused(
        HEAD + second(routed("ray.serve.llm.PrefixCacheAffinityRouter", "imbalance_threshold: 7")),
        "imbalance_threshold: unknown key (did you mean imbalanced_threshold?)");
    refused(
        HEAD + second("request_router_config: {initial_backoff_s: 1}"),
        "initial_backoff_s: differs from that of m");
  }

  @Test
  void adaptersPerReplicaAreTranslated() {
    ConfigValues values = values(HEAD + "      lora_config: {max_num_adapters_per_replica: 4}\n");

    assertThat(values.get(TierKeys.ADAPTERS_PER_WORKER)).isEqualTo(4);
    refused(HEAD + "      lora_config: {max_num_adapters: 4}\n", "max_num_adapters: unknown key");
  }

  @Test
  void discoveryUsesTheKubernetesKeys() {
    String yaml =
        HEAD.replaceFirst(
            "(?m)^ *workers:.*$", "      discovery: {selector: app=vllm, port: 8001}");

    ConfigValues values = values(yaml);

    assertThat(values.get(KubernetesKeys.PORT)).isEqualTo(8001);
    assertThat(values.has(KubernetesKeys.SELECTOR)).isTrue();
    refused(yaml.replace("selector", "selctor"), "selctor: unknown key (did you mean selector?)");
  }

  /** Discovered engines report their own models. */
  @Test
  void severalModelsAreDiscoveredTogether() {
    String one = HEAD.replaceFirst("(?m)^ *workers:.*$", "      discovery: {selector: app=vllm}");
    String second = "    - model_loading_config: {model_id: n}\n";
    String again = second + "      discovery: {selector: \"app=vllm\"}\n";

    for (String yaml : List.of(one + second, one + again)) {
      ConfigValues values = values(yaml);
      assertThat(values.has(KubernetesKeys.SELECTOR)).isTrue();
      assertThat(values.get(RoutingKeys.WORKERS)).isEmpty();
    }
    values(one + second + "      workers: [\"http://c:3\"]\n");
    refused(
        one + again.replace("vllm", "other"),
        "discovery: differs from another model's (expected: one for all models)");
  }

  @Test
  void theSessionHeaderIsNamedByTheEnvironment() {
    Translated translated =
        RayServeFile.translate(
            FILE,
            HEAD,
            Map.of("RAY_SERVE_SESSION_ID_HEADER_KEY", "X-Correlation-ID"),
            new ConfigValues());

    assertThat(translated.values().get(HeaderKeys.SESSION_HEADER)).isEqualTo("X-Correlation-ID");
  }

  @Test
  void aModelCanBeInItsOwnFile(@TempDir Path directory) throws Exception {
    Files.writeString(
        directory.resolve("m.yaml"),
        "model_loading_config: {model_id: m}\nworkers: [\"http://a:1\"]\n");
    Path file = directory.resolve("serve.yaml");
    Files.writeString(
        file,
        """
        applications:
        - import_path: ray.serve.llm:build_openai_app
          args: {llm_configs: [m.yaml]}
        """);

    assertThat(
            RayServeFile.read(file, Map.of(), new ConfigValues()).values().get(RoutingKeys.WORKERS))
        .hasSize(1);
    Files.delete(directory.resolve("m.yaml"));
    assertThatThrownBy(() -> RayServeFile.read(file, Map.of(), new ConfigValues()))
        .hasMessageContaining("m.yaml: no such file");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "# nothing\n", "[]", "applications: 3", "applications: []"})
  void aFileWithoutAnApplicationIsAnError(String yaml) {
    assertThatThrownBy(() -> translate(yaml)).isInstanceOf(ConfigException.class);
  }
}
