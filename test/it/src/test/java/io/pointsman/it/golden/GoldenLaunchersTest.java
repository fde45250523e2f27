package io.pointsman.it.golden;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Configurations through every launcher: the keys that differ from their defaults, or the reasons
 * for the refusal, and the exit code.
 */
final class GoldenLaunchersTest {
  @TempDir private Path folder;

  @Test
  void ownConfigurations() throws IOException {
    Launched launched = new Launched(folder).checkWhole("");
    ownThatAreValid(launched);
    ownThatAreRefused(launched);
    GoldenFile.compare("launcher-pointsman.txt", launched.text());
  }

  private static void ownThatAreValid(Launched launched) throws IOException {
    launched
        .file(
            "router.yaml",
            """
            listen:
              host: 0.0.0.0
              port: 8080
            workers:
              - http://10.0.0.1:8000
              - url: http://10.0.0.2:8000
                id: big-one
                models: [llama-70b]
                max-in-flight: 256
                labels: {zone: a}
            policy: cost
            health:
              interval: 5s
            """)
        .check("router.yaml")
        .check("--config router.yaml --port 82 --policy random --sse-keepalive")
        .file(
            "split.yaml",
            """
            workers:
              - {url: "http://p:8000", role: prefill, kv-address: "p:21001"}
              - {url: "http://d:8000", role: decode, kv-address: "d:22001", rank: 1}
            disaggregation: {protocol: p2p_nccl, registration-address: "0.0.0.0:30001"}
            """)
        .check("split.yaml")
        .file(
            "models.yaml",
            """
            workers: [http://a:1, http://b:1]
            model-policies:
              - {model: m, policy: cache_aware, cache.threshold: 0.7}
              - {model: n, policy: random}
            api-key: secret
            limits: {max-concurrent-requests: 64, queue-size: 10}
            queue: {defer-beyond: 0s}
            retry: {max-attempts: 2, after-timeout: true}
            kv-events: {mode: static, endpoint: "tcp://*:5557"}
            """)
        .check("models.yaml")
        .check("models.yaml --api-key other");
  }

  private static void ownThatAreRefused(Launched launched) throws IOException {
    launched
        .file(
            "wrong.yaml",
            """
            polcy: random
            listen: {port: 80, prot: 81}
            listen: {host: a}
            workers: [nowhere, {url: "http://a:1", rank: -1}]
            health: {interval: soon}
            """)
        .check("wrong.yaml")
        .file("not.yaml", "policy: [random\n")
        .check("not.yaml")
        .check("none.yaml")
        .check("--workers http://a:1,http://a:1/x --worker http://b:1")
        .check("--port 99999 --drain-timeout soon --policy fastest")
        .check("--workers http://a:1 --kv-events-endpoint tcp://*:1")
        .check("--kubernetes-prefill-selector app=p --kubernetes-selector app=x")
        .check("--stall-max-patience 5ms")
        .check("--config router.yaml router.yaml");
  }

  @Test
  void commandLinesOfVllmRouter() {
    Launched launched = new Launched(folder);
    for (String flags :
        List.of(
            "",
            "--host 0.0.0.0 --port 30000 --policy cache_aware"
                + " --worker-urls http://engine-0:8000 http://engine-1:8000",
            "--worker-urls http://e:8000 --intra-node-data-parallel-size 2 --policy consistent_hash"
                + " --api-key k --max-payload-size 1000 --request-id-headers x-a x-b"
                + " --cors-allowed-origins http://w --decide-enabled false",
            "--worker-urls=http://e:1 --router-cache-threshold 0.5 --balance-abs 32"
                + " --max-concurrent-requests 10 --queue-size 5 --queue-timeout-secs 3"
                + " --rate-limit-tokens-per-second 7 --retry-max-retries 2"
                + " --disable-circuit-breaker --request-timeout-secs 60 --log-level critical"
                + " --log-dir /var/log --enable-trace --otlp-traces-endpoint c:4317"
                + " --otel-sampling-ratio 0.5",
            "--vllm-pd-disaggregation --prefill http://p:8000 8998 --prefill http://q:8000 none"
                + " --decode http://d:8000 --kv-connector mooncake --policy cache_aware"
                + " --decode-policy power_of_two",
            "--pd-disaggregation --vllm-discovery-address 0.0.0.0:30001",
            "--service-discovery --selector app=vllm tier=x --service-discovery-port 8000"
                + " --service-discovery-namespace n",
            "--worker-urls http://e:1 --policy kv_aware --kv-event-source http://e:1=tcp://e:5557"
                + " --router-temperature 0.2 --kv-penalty-disk 0.1"
                + " --kv-aware-session-affinity-ttl-secs 60",
            "--worker-urls http://s:1 --backend openai",
            "--worker-urls http://e:1 --mini-lb --profile --enable-program-scheduling",
            "--polcy random --worker-urls nowhere --port many --policy fastest",
            "--vllm-pd-disaggregation --prefill http://p:1 --kv-connector lmcache",
            "--service-discovery static --static-backends http://a:1 --routing-logic=session")) {
      launched.launch(
          "vllm-router " + flags, words -> VllmRouterLauncher.translate(words, Map.of()));
    }
    GoldenFile.compare("launcher-vllm-router.txt", launched.text());
  }

  private static final String LISTED =
      "--service-discovery static --static-backends http://a:1,http://b:2 --static-models m,m";
  private static final String ROLES =
      " --static-model-labels pre,dec --prefill-model-labels pre --decode-model-labels dec";

  @Test
  void commandLinesOfTheProductionStack() {
    Launched launched = new Launched(folder);
    for (String flags :
        List.of(
            LISTED + " --routing-logic roundrobin",
            LISTED + " --routing-logic session --session-key x-user-session",
            LISTED + " --routing-logic prefixaware --max-instance-failover-reroute-attempts 2",
            LISTED
                + " --routing-logic roundrobin --host 127.0.0.1 --port 9"
                + " --static-backend-health-check-interval 7 --log-level warning --log-format json"
                + " --otel-endpoint c:4317 --otel-service-name r --otel-secure"
                + " --feature-gates SemanticCache=false --metrics-host 0.0.0.0",
            "--service-discovery k8s --k8s-namespace inference --k8s-label-selector app=vllm"
                + " --routing-logic disaggregated_prefill_orchestrated"
                + " --prefill-model-labels prefill --decode-model-labels decode",
            LISTED + ROLES + " --routing-logic disaggregated_prefill",
            LISTED
                + ROLES
                + " --routing-logic disaggregated_prefill_orchestrated --routing-threshold 256"
                + " --load-balancing-strategy least_loaded",
            LISTED
                + ROLES
                + " --routing-logic disaggregated_prefill_orchestrated"
                + " --disagg-connector-type lmcache --decoder-host d --decoder-init-port 7300"
                + " --decoder-alloc-port 7400 --nixl-proxy-host 0.0.0.0",
            "",
            LISTED + " --routing-logic kvaware --lmcache-controller-port 9001",
            LISTED + " --routing-logic roundrobin --static-aliases x:m --callbacks a.b",
            LISTED + " --routing-logic session --routing-treshold 5 --port many",
            LISTED + " --routing-logic roundrobin --feature-gates SemanticCache=true",
            "--worker-urls http://a:1 --kv-connector nixl")) {
      launched.launch(
          "production-stack " + flags, words -> ProductionStackLauncher.translate(words, Map.of()));
    }
    GoldenFile.compare("launcher-production-stack.txt", launched.text());
  }

  private static final String APPLICATION =
      """
      applications:
      - name: llm_app
        route_prefix: "/"
        import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
      """;

  private static String model(String name, String deployment) {
    return """
        - model_loading_config: {model_id: %s}
          workers: ["http://%s-1:1", {id: %s-two, url: "http://%s-2:2"}]
    """
            .formatted(name, name, name, name)
        + (deployment.isEmpty() ? "" : "      deployment_config: {" + deployment + "}\n");
  }

  private static String router(String type, String arguments) {
    return "request_router_config: {request_router_class: ray.serve.llm.request_router.%s,"
            .formatted(type)
        + " request_router_kwargs: {"
        + arguments
        + "}}";
  }

  @Test
  void filesOfRayServe() throws IOException {
    Launched launched = new Launched(folder);
    String limits = "max_ongoing_requests: 64, max_queued_requests: 100";
    ray(launched, "plain.yaml", APPLICATION + model("m", ""));
    ray(
        launched,
        "prefix.yaml",
        APPLICATION
            + model(
                "m",
                limits
                    + ", "
                    + router(
                        "PrefixCacheAffinityRouter",
                        "match_rate_threshold: 0.1, imbalanced_threshold: 32")));
    ray(
        launched,
        "two.yaml",
        APPLICATION
            + model("m", limits + ", " + router("KVAwareRouter", ""))
            + model("n", router("ConsistentHashRouter", "num_virtual_nodes: 50")));
    ray(
        launched,
        "times.yaml",
        "http_options: {host: 127.0.0.1, port: 81, request_timeout_s: 5, keep_alive_timeout_s: 7}\n"
            + APPLICATION
            + model(
                "m",
                "health_check_period_s: 3, health_check_timeout_s: 2,"
                    + " graceful_shutdown_timeout_s: 9, num_replicas: 4"));
    ray(
        launched,
        "session.yaml",
        APPLICATION
            + model("m", "")
            + "  runtime_env: {env_vars: {RAY_SERVE_SESSION_ID_HEADER_KEY: x-who}}\n");
    ray(launched, "misspelt.yaml", APPLICATION + model("m", "max_ongoing_request: 64"));
    ray(launched, "class.yaml", APPLICATION + model("m", router("CapacityQueueRouter", "")));
    ray(launched, "kwargs.yaml", APPLICATION + model("m", router("RoundRobinRouter", "x: 1")));
    ray(
        launched,
        "prefix-path.yaml",
        APPLICATION.replace("\"/\"", "/llm").replace("build_openai_app", "build_pd_openai_app")
            + model("m", ""));
    ray(launched, "nobody.yaml", APPLICATION + "      - model_loading_config: {model_id: m}\n");
    ray(launched, "no-file.yaml", "");
    GoldenFile.compare("launcher-ray-serve.txt", launched.text());
  }

  private static void ray(Launched launched, String name, String content) throws IOException {
    if (!content.isEmpty()) {
      launched.file(name, content);
    }
    launched.launch(
        "ray-serve " + name,
        words -> {
          RayServeFile.Translated translated =
              RayServeFile.read(Path.of(words.getFirst()), Map.of(), new ConfigValues());
          translated.notes().forEach(launched::note);
          return translated.values();
        });
  }
}
