package io.pointsman.compat.productionstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.groups.Tuple.tuple;

import io.pointsman.compat.vllmrouter.Effect;
import io.pointsman.compat.vllmrouter.Flag;
import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.HealthRequestLabel;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.pd.protocol.ProtocolSettings.RemoteHost;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ProductionStackLauncherTest {
  private static final String STATIC =
      "--service-discovery static --static-backends http://a:1,http://b:2 --static-models m,m ";
  private static final String ROUND = STATIC + "--routing-logic roundrobin ";
  private static final String LABELS =
      "--static-model-labels pre,dec --prefill-model-labels pre --decode-model-labels dec ";
  private static final String SPLIT =
      STATIC + LABELS + "--routing-logic disaggregated_prefill_orchestrated ";

  private static ConfigValues translated(String line, String... further) {
    List<String> args = new ArrayList<>(List.of(line.strip().split(" ", -1)));
    args.addAll(List.of(further));
    return ProductionStackLauncher.translate(args, Map.of());
  }

  private static PointsmanConfig launched(String line) {
    return PointsmanConfig.from(translated(line));
  }

  private static List<String> refused(String line, String... further) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> translated(line, further))
        .actual()
        .problems();
  }

  @Test
  void everyFlagOfTheStackIsKnown() {
    String all =
        "--host --port --root-path --service-discovery --k8s-service-discovery-type"
            + " --static-backends --static-models --static-aliases --static-model-types"
            + " --static-model-labels --static-backend-health-checks"
            + " --static-backend-health-check-interval"
            + " --static-backend-health-check-timeout-seconds --k8s-port --k8s-namespace"
            + " --k8s-label-selector --k8s-watcher-timeout-seconds"
            + " --backend-health-check-timeout-seconds --routing-logic --lmcache-controller-port"
            + " --lmcache-controller-reply-port --lmcache-controller-heartbeat-port"
            + " --lmcache-health-check-interval --lmcache-worker-timeout --session-key"
            + " --kv-aware-threshold --prefix-min-match-length"
            + " --max-instance-failover-reroute-attempts --prefill-model-labels"
            + " --decode-model-labels --callbacks --request-rewriter --enable-batch-api"
            + " --file-storage-class --file-storage-path --batch-processor --engine-stats-interval"
            + " --request-stats-window --log-stats --log-stats-interval --dynamic-config-yaml"
            + " --dynamic-config-json --feature-gates --semantic-cache-model --semantic-cache-dir"
            + " --semantic-cache-threshold --log-level --log-format --sentry-dsn"
            + " --sentry-traces-sample-rate --sentry-profile-session-sample-rate --otel-endpoint"
            + " --otel-service-name --otel-secure --external-providers-config --version"
            + " --loadaware-beta --priority-header --priority-field --priority-default"
            + " --priority-threshold"
            + " --routing-threshold --load-balancing-strategy --disagg-connector-type"
            + " --decoder-host --decoder-init-port --decoder-alloc-port --decoder-registry"
            + " --nixl-peer-host --nixl-peer-init-port --nixl-peer-alloc-port --nixl-proxy-host"
            + " --nixl-proxy-port --nixl-finished-req-ttl --nixl-cleanup-interval --tokenizer"
            + " --enable-shared-cache --lmcache-instances";
    assertThat(
            ProductionStackLauncher.flags(new Wishes()).flags().stream()
                .flatMap(flag -> flag.names().stream()))
        .containsExactlyInAnyOrder(all.split(" ", -1));
  }

  @Test
  void defaultsAreThoseOfTheStack() {
    PointsmanConfig config = launched(ROUND);
    assertThat(config.proxy().listen().host()).isEqualTo("0.0.0.0");
    assertThat(config.proxy().listen().port()).isEqualTo(8001);
    assertThat(config.policy()).isEqualTo("round_robin");
    assertThat(config.probes().interval()).isEqualTo(Duration.ofMinutes(1));
    assertThat(config.probes().timeout()).isEqualTo(Duration.ofSeconds(10));
    assertThat(config.proxy().timeouts().total()).isZero();
    assertThat(config.proxy().timeouts().streamTotal()).isZero();
    assertThat(config.tracing().enabled()).isFalse();
    assertThat(config.kubernetes().enabled()).isFalse();
    assertThat(translated(ROUND).get(DisaggKeys.PROTOCOL)).isEqualTo("off");
  }

  @Test
  void aRequestIsTriedOnceByDefault() {
    assertThat(launched(ROUND).proxy().retry().maxAttempts()).isEqualTo(1);
    assertThat(launched(ROUND).proxy().retry().afterLateReset()).isTrue();
    assertThat(
            launched(ROUND + "--max-instance-failover-reroute-attempts 2")
                .proxy()
                .retry()
                .maxAttempts())
        .isEqualTo(3);
  }

  @Test
  void listedEnginesServeTheirModels() {
    assertThat(
            launched(
                    "--routing-logic roundrobin --service-discovery static --static-backends"
                        + " http://a:1,http://b_1.x/x,http://a:1/ --static-models m1,m2,m3")
                .workers())
        .extracting(WorkerSpec::url, WorkerSpec::role, WorkerSpec::models)
        .containsExactly(
            tuple("http://a:1", Role.REGULAR, Set.of("m1", "m3")),
            tuple("http://b_1.x/x", Role.REGULAR, Set.of("m2")));
  }

  @Test
  void everyOperationFlagIsTranslated() {
    PointsmanConfig config =
        launched(
            ROUND
                + "--host 127.0.0.1 --port 9 --static-backend-health-checks"
                + " --static-model-types chat,completion"
                + " --static-backend-health-check-interval 7"
                + " --static-backend-health-check-timeout-seconds 3 --log-level warning"
                + " --log-format json --otel-endpoint c:4317 --otel-service-name r --otel-secure"
                + " --feature-gates SemanticCache=false,PIIDetection=false --log-stats"
                + " --engine-stats-interval 15 --request-rewriter noop --root-path /x");
    assertThat(config.proxy().listen().host()).isEqualTo("127.0.0.1");
    assertThat(config.probes().interval()).isEqualTo(Duration.ofSeconds(7));
    assertThat(config.probes().timeout()).isEqualTo(Duration.ofSeconds(3));
    assertThat(config.log().level()).isEqualTo(LogSettings.Level.WARN);
    assertThat(config.log().format()).isEqualTo(LogSettings.Format.JSON);
    assertThat(config.tracing().enabled()).isTrue();
    assertThat(config.tracing().endpoint()).isEqualTo("https://c:4317");
    assertThat(config.tracing().serviceName()).isEqualTo("r");
  }

  @Test
  void sessionsAreHashedByTheirHeader() {
    PointsmanConfig config =
        launched(STATIC + "--routing-logic session --session-key x-user-session");
    assertThat(config.policy()).isEqualTo("md5_ring");
    assertThat(config.affinity().sessionHeader()).isEqualTo("x-user-session");
    assertThat(config.affinity().sessionField()).isEqualTo("x-user-session");
    assertThat(refused(STATIC + "--routing-logic session"))
        .containsExactly("--routing-logic: session given without --session-key");
  }

  @Test
  void prefixesAreFollowedAtAnyShare() {
    PointsmanConfig config = launched(STATIC + "--routing-logic prefixaware");
    assertThat(config.policy()).isEqualTo("cache_aware");
    assertThat(config.policies().cacheAware().cacheThreshold()).isZero();
  }

  @Test
  void podsAreFoundByTheirLabels() {
    assertThat(
            launched(
                    "--routing-logic roundrobin --service-discovery k8s --k8s-label-selector"
                        + " app=vllm,tier=x --k8s-namespace n --k8s-port 9")
                .kubernetes())
        .isEqualTo(
            new KubernetesSettings(
                PodSelector.of(Map.of("app", "vllm", "tier", "x")), "n", 9, 1, ""));
  }

  @Test
  void podsOfBothRolesAreFoundByTheLabelOfTheirModel() {
    assertThat(
            translated(
                    "--routing-logic disaggregated_prefill_orchestrated --service-discovery k8s"
                        + " --k8s-label-selector app=vllm --prefill-model-labels pre"
                        + " --decode-model-labels dec")
                .get(KubernetesKeys.PREFILL_SELECTOR))
        .isEqualTo(PodSelector.of(Map.of("app", "vllm", "model", "pre")));
  }

  @Test
  void labelsOfARoleAreComparedAsWholeWords() {
    ConfigValues values =
        translated(
            "--routing-logic disaggregated_prefill_orchestrated --service-discovery k8s"
                + " --k8s-label-selector app=vllm --prefill-model-labels pre-2,pre"
                + " --decode-model-labels dec,dec-2,dec-3");
    assertThat(values.get(KubernetesKeys.PREFILL_SELECTOR))
        .isEqualTo(new PodSelector(Map.of("app", Set.of("vllm"), "model", Set.of("pre", "pre-2"))))
        .hasToString("app=vllm,model in (pre,pre-2)");
    assertThat(values.get(KubernetesKeys.DECODE_SELECTOR))
        .hasToString("app=vllm,model in (dec,dec-2,dec-3)");
  }

  @Test
  void roleLabelsAreEnoughWithoutCommonLabels() {
    ConfigValues values =
        translated(
            "--routing-logic disaggregated_prefill_orchestrated --service-discovery k8s"
                + " --prefill-model-labels a,b --decode-model-labels c");
    assertThat(values.get(KubernetesKeys.PREFILL_SELECTOR)).hasToString("model in (a,b)");
    assertThat(values.get(KubernetesKeys.DECODE_SELECTOR)).hasToString("model=c");
  }

  @Test
  void rolesAreMatchedByWholeLabels() {
    ConfigValues values =
        translated(
            "--routing-logic disaggregated_prefill_orchestrated --service-discovery static"
                + " --static-backends http://a,http://b,http://c --static-models m,m,m"
                + " --static-model-labels prefill,decode-1,decode-2"
                + " --prefill-model-labels prefill,unused --decode-model-labels decode-1,decode-2");
    assertThat(values.get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url, WorkerSpec::role)
        .containsExactly(
            tuple("http://a", Role.PREFILL),
            tuple("http://b", Role.DECODE),
            tuple("http://c", Role.DECODE));
    assertThat(refused(SPLIT.replace("pre,dec", "pre,de")))
        .singleElement()
        .asString()
        .startsWith("--static-model-labels: de (expected: one of --prefill-model-labels or");
    assertThat(refused(SPLIT.replace("pre,dec", "pre-2,dec")))
        .as("the label contains one of the role")
        .singleElement()
        .asString()
        .startsWith("--static-model-labels: pre-2 (expected: one of --prefill-model-labels or");
  }

  @Test
  void theOrchestratedLogicIsNixlWithTheHostOfTheUrl() {
    ConfigValues values = translated(SPLIT);
    assertThat(values.get(DisaggKeys.PROTOCOL)).isEqualTo("nixl");
    assertThat(values.get(DisaggKeys.REMOTE_HOST)).isEqualTo(RemoteHost.REPLACE);
    assertThat(values.get(DisaggKeys.PREFILL_POLICY)).isEqualTo("round_robin");
    assertThat(values.get(DisaggKeys.DECODE_POLICY)).isEqualTo("round_robin");
    assertThat(values.get(DisaggKeys.THRESHOLD)).isZero();
    assertThat(values.get(DisaggKeys.CACHED_SHARE)).as("all are split").isGreaterThan(1);
    assertThat(values.get(DisaggKeys.PREFILL_TIMEOUT)).isEqualTo(Duration.ofMinutes(5));
    assertThat(values.get(DisaggKeys.DECODE_TIMEOUT)).isEqualTo(Duration.ofMinutes(10));
  }

  /** The original checks models only with its other logics. */
  @Test
  void splitRequestsMayNameUnknownModels() {
    assertThat(launched(SPLIT).engine().unknownModel()).isEqualTo(UnknownModel.ANY_WORKER);
    assertThat(launched(SPLIT.replace("_orchestrated", "")).engine().unknownModel())
        .isEqualTo(UnknownModel.ANY_WORKER);
    assertThat(launched(ROUND).engine().unknownModel()).isEqualTo(UnknownModel.REJECT);
  }

  @Test
  void thresholdAndStrategyAreTranslated() {
    ConfigValues values =
        translated(SPLIT + "--routing-threshold 4096 --load-balancing-strategy least_loaded");
    assertThat(values.get(DisaggKeys.THRESHOLD)).isEqualTo(4096);
    assertThat(values.get(DisaggKeys.DECODE_WITHOUT_PREFILL)).isFalse();
    assertThat(values.get(DisaggKeys.STAGE_ERRORS)).isTrue();
    assertThat(values.get(FleetKeys.ENGINE_LOAD)).isEqualTo(Duration.ofSeconds(2));
    assertThat(translated(ROUND).get(DisaggKeys.STAGE_ERRORS)).isFalse();
    assertThat(translated(SPLIT + "--routing-threshold -5").get(DisaggKeys.THRESHOLD)).isZero();
    assertThat(values.get(DisaggKeys.PREFILL_POLICY)).isEqualTo("least_load");
    assertThat(values.get(DisaggKeys.DECODE_POLICY)).isEqualTo("least_load");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--engine-stats-interval 0",
        "--engine-stats-interval -1",
        "--request-stats-window 0",
        "--log-stats --log-stats-interval 0",
        "--log-stats --log-stats-interval -5",
        "--log-stats-interval x",
        "--sentry-traces-sample-rate -0.1",
        "--sentry-traces-sample-rate 1.5",
        "--sentry-profile-session-sample-rate NaN",
        "--kv-aware-threshold x",
        "--lmcache-controller-port x",
        "--max-instance-failover-reroute-attempts -1",
        "--static-backend-health-check-interval -1",
        "--k8s-port -1"
      })
  void numbersThatTheStackRefusesAreRefused(String flags) {
    String[] words = flags.split(" ", -1);
    assertThat(refused(ROUND + flags))
        .singleElement()
        .asString()
        .startsWith(words[words.length - 2] + ": " + words[words.length - 1] + " (expected: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--log-stats-interval 0",
        "--kv-aware-threshold -1",
        "--prefix-min-match-length -1",
        "--priority-default -1",
        "--priority-threshold -1",
        "--k8s-watcher-timeout-seconds -1",
        "--lmcache-worker-timeout -1"
      })
  void negativeNumbersThatTheStackAcceptsAreAccepted(String flags) {
    assertThat(translated(ROUND + flags)).isNotNull();
  }

  @Test
  void listsOfPromptsAreSizedByTheirLength() {
    PromptLists lists =
        PointsmanConfig.from(translated(SPLIT + "--routing-threshold 5")).disagg().split().lists();
    assertThat(lists).isEqualTo(new PromptLists(false, true));
    String logic = STATIC + LABELS + "--routing-logic disaggregated_prefill ";
    assertThat(PointsmanConfig.from(translated(logic)).disagg().split().lists())
        .isEqualTo(new PromptLists(true, true));
  }

  @Test
  void stageTimeoutsComeFromTheEnvironment() {
    ConfigValues values =
        ProductionStackLauncher.translate(
            List.of(SPLIT.strip().split(" ", -1)),
            Map.of("ROUTER_PREFILL_TIMEOUT_SECONDS", "20", "ROUTER_DECODE_TIMEOUT_SECONDS", "30"));
    assertThat(values.get(DisaggKeys.PREFILL_TIMEOUT)).isEqualTo(Duration.ofSeconds(20));
    assertThat(values.get(DisaggKeys.DECODE_TIMEOUT)).isEqualTo(Duration.ofSeconds(30));
  }

  @ParameterizedTest
  @CsvSource({"0, PT0S", "2.5, PT2.5S", "0.0001, PT0.001S", "1e9, PT0S"})
  void timeoutsAreReadAsInTheStack(String given, Duration limit) {
    ConfigValues values =
        ProductionStackLauncher.translate(
            List.of(SPLIT.strip().split(" ", -1)),
            Map.of("ROUTER_PREFILL_TIMEOUT_SECONDS", given, "ROUTER_PROXY_TIMEOUT_SECONDS", given));
    assertThat(values.get(DisaggKeys.PREFILL_TIMEOUT)).isEqualTo(limit);
    assertThat(values.get(ForwardKeys.TOTAL_TIMEOUT)).isEqualTo(limit);
    assertThat(values.get(ForwardKeys.STREAM_TOTAL_TIMEOUT)).isEqualTo(limit);
  }

  @ParameterizedTest
  @ValueSource(strings = {"-1", "nan", "soon"})
  void anInvalidTimeoutIsRefused(String given) {
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(
            () ->
                ProductionStackLauncher.translate(
                    List.of(SPLIT.strip().split(" ", -1)),
                    Map.of("ROUTER_DECODE_TIMEOUT_SECONDS", given)))
        .withMessageContaining(
            "ROUTER_DECODE_TIMEOUT_SECONDS: " + given + " (expected: seconds, 0 for no limit)");
  }

  @Test
  void theOtherDisaggregatedLogicIsTransparentOrLmcache() {
    String logic = STATIC + LABELS + "--routing-logic disaggregated_prefill ";
    assertThat(translated(logic).get(DisaggKeys.PROTOCOL)).isEqualTo("transparent");
    ConfigValues values =
        translated(logic + "--nixl-peer-host 10.0.0.9 --nixl-proxy-host 10.0.0.1");
    assertThat(values.get(DisaggKeys.PROTOCOL)).isEqualTo("lmcache");
    assertThat(values.get(DisaggKeys.RECEIVER)).isEqualTo("10.0.0.9/7300/7400");
    assertThat(values.get(PeerKeys.NOTIFICATION_ADDRESS)).isEqualTo("10.0.0.1:7500");
  }

  @Test
  void lmcacheTakesOneReceiverForAllDecoders() {
    ConfigValues values =
        translated(
            SPLIT
                + "--disagg-connector-type lmcache --decoder-host h --decoder-init-port 1,2"
                + " --decoder-alloc-port 3,4 --nixl-proxy-port 8500");
    assertThat(values.get(DisaggKeys.PROTOCOL)).isEqualTo("lmcache");
    assertThat(values.get(DisaggKeys.RECEIVER)).isEqualTo("h/1,2/3,4");
    assertThat(values.get(PeerKeys.NOTIFICATION_ADDRESS)).isEqualTo("0.0.0.0:8500");
  }

  @Test
  void lmcacheTakesAReceiverForEachDecoder() {
    ConfigValues values =
        translated(
            SPLIT + "--disagg-connector-type lmcache",
            "--decoder-registry",
            "{\"http://b:2\": {\"receiver_host\": \"h\", \"receiver_init_port\": [1, 2],"
                + " \"receiver_alloc_port\": [3, 4]}}");
    assertThat(values.get(RoutingKeys.WORKERS).getLast().labels())
        .containsEntry("receiver", "h/1,2/3,4");
    assertThat(values.get(RoutingKeys.WORKERS).getFirst().labels()).doesNotContainKey("receiver");
  }

  /** These decoders are not in the registry. */
  @Test
  void theCommonReceiverAppliesToDecodersOutsideTheRegistry() {
    ConfigValues values =
        translated(
            SPLIT
                + "--disagg-connector-type lmcache --decoder-host h --decoder-init-port 5"
                + " --decoder-alloc-port 6",
            "--decoder-registry",
            "{\"http://b:2\": {\"receiver_host\": \"g\", \"receiver_init_port\": [1],"
                + " \"receiver_alloc_port\": [3]}}");
    assertThat(values.get(DisaggKeys.RECEIVER)).isEqualTo("h/5/6");
    assertThat(values.get(RoutingKeys.WORKERS).getLast().labels())
        .containsEntry("receiver", "g/1/3");
  }

  /** A start script may contain all defaults. */
  @Test
  void explicitDefaultsAreAcceptedWithEveryLogic() {
    ConfigValues values =
        translated(
            STATIC
                + "--routing-logic roundrobin --load-balancing-strategy round_robin"
                + " --disagg-connector-type nixl --nixl-peer-init-port 7300"
                + " --nixl-peer-alloc-port 7400 --nixl-proxy-port 7500 --routing-threshold 0");
    assertThat(values.get(RoutingKeys.POLICY)).isEqualTo("round_robin");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]|not an object",
        "{\"http://b:2\": 7}|http://b:2: not an object",
        "{\"http://b:2\": {\"receiver_host\": \"h\"}}|http://b:2: no receiver_init_port",
        "{\"http://a:1\": {\"receiver_host\": \"h\", \"receiver_init_port\": 1,"
            + " \"receiver_alloc_port\": 2}}|http://a:1 (expected: a decode engine)",
        "{\"http://b:2\": {\"receiver_host\": \"h\", \"receiver_init_port\": [1],"
            + " \"receiver_alloc_port\": [2, 3]}}|http://b:2: ports: 1 init, 2 alloc",
        "{|--decoder-registry",
      })
  void aWrongRegistryIsRefused(String json, String reason) {
    assertThat(refused(SPLIT + "--disagg-connector-type lmcache", "--decoder-registry", json))
        .singleElement()
        .asString()
        .contains("--decoder-registry")
        .contains(reason);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--routing-logic roundrobin|--service-discovery: missing",
        "--service-discovery external-only --routing-logic roundrobin|"
            + "--external-providers-config: missing (expected: a file)",
        "--service-discovery k8s --routing-logic roundrobin|--k8s-label-selector: missing",
        "--service-discovery k8s --routing-logic roundrobin --k8s-label-selector a!=b"
            + "|--k8s-label-selector: ",
        "--service-discovery k8s --routing-logic disaggregated_prefill_orchestrated"
            + " --prefill-model-labels a,b+c --decode-model-labels d"
            + "|--prefill-model-labels: model=b+c (expected: ",
        "--service-discovery k8s --routing-logic disaggregated_prefill_orchestrated"
            + " --prefill-model-labels a,b --decode-model-labels d --k8s-label-selector model=a"
            + "|--prefill-model-labels: model in (a,b) beside model=a (expected: each label once)",
        "--service-discovery k8s --routing-logic disaggregated_prefill_orchestrated"
            + " --prefill-model-labels a,b --decode-model-labels d --k8s-label-selector c"
            + "|--k8s-label-selector: c (expected: label=value",
        "--service-discovery static --routing-logic roundrobin|--static-backends: missing",
        "--service-discovery static --routing-logic roundrobin --static-backends http://a,http://b"
            + " --static-models m|--static-models: 1 (expected: 2",
        "--service-discovery static --routing-logic roundrobin --static-backends a --static-models"
            + " m|--static-backends: a (expected: http://host:port)",
        "--service-discovery consul --routing-logic roundrobin|--service-discovery: consul",
      })
  void enginesThatCannotBeFoundAreRefused(String line, String reason) {
    assertThat(refused(line)).anyMatch(problem -> problem.startsWith(reason));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--routing-logic fastest|--routing-logic: fastest (expected: one of roundrobin",
        "--session-key x|--routing-logic: missing (expected: one of roundrobin",
        "--routing-logic disaggregated_prefill|disaggregated_prefill: given without"
            + " --prefill-model-labels",
        "--routing-logic roundrobin --routing-threshold 9|--routing-threshold: given without a",
        "--routing-logic roundrobin --static-model-labels x|--static-model-labels: 1 (expected: 2",
        "--routing-logic roundrobin --decoder-host h|--decoder-host: no effect",
        "--routing-logic roundrobin --load-balancing-strategy least_loaded"
            + "|--load-balancing-strategy: no effect",
        "--routing-logic session --session-key x-user --load-balancing-strategy least_loaded"
            + "|--load-balancing-strategy: no effect",
        "--routing-logic roundrobin --nixl-peer-init-port 7301|--nixl-peer-init-port: no effect",
      })
  void unsupportedLogicsAreRefused(String flags, String reason) {
    assertThat(refused(STATIC + flags)).anyMatch(problem -> problem.startsWith(reason));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--disagg-connector-type lmcache|--disagg-connector-type: lmcache given without",
        "--disagg-connector-type lmcache --decoder-host h --decoder-init-port 1"
            + " --decoder-alloc-port x|--decoder-host, --decoder-init-port",
        "--decoder-host h|--decoder-host: no effect",
        "--nixl-proxy-host h|--nixl-proxy-host: no effect",
        "--nixl-proxy-port 7501|--nixl-proxy-port: no effect",
        "--nixl-peer-init-port 7301|--nixl-peer-init-port: no effect",
        "--nixl-peer-alloc-port 7401|--nixl-peer-alloc-port: no effect",
        "--decoder-init-port 1|--decoder-init-port: no effect",
        "--decoder-alloc-port 1|--decoder-alloc-port: no effect",
        "--disagg-connector-type lmcache --decoder-registry {} --decoder-host h"
            + "|--decoder-host: no effect without --decoder-init-port, --decoder-alloc-port",
        "--prefill-model-labels dec,pre|--prefill-model-labels: dec is one of",
        "--load-balancing-strategy random|--load-balancing-strategy: random (expected: one of",
        "--routing-threshold x|--routing-threshold: x (expected:",
      })
  void contradictorySplitFleetsAreRefused(String flags, String reason) {
    assertThat(refused(SPLIT + flags)).anyMatch(problem -> problem.startsWith(reason));
  }

  @Test
  void activeRequestsAreNotCutAtShutdown() {
    assertThat(translated(ROUND).get(OperationKeys.DRAIN_TIMEOUT)).isEqualTo(Duration.ofHours(24));
    assertThat(translated(ROUND + "--drain-timeout 25s").get(OperationKeys.DRAIN_TIMEOUT))
        .isEqualTo(Duration.ofSeconds(25));
  }

  @Test
  void typesAreNeededForHealthChecksOnly() {
    String checks = ROUND + "--static-backend-health-checks ";
    assertThat(refused(checks))
        .containsExactly(
            "--static-model-types: missing (expected: one for each backend, because of"
                + " --static-backend-health-checks)");
    assertThat(refused(checks + "--static-model-types chat"))
        .containsExactly("--static-model-types: 1 (expected: 2, one for each backend)");
    assertThat(refused(ROUND + "--static-model-types chat,talk"))
        .singleElement()
        .asString()
        .startsWith("--static-model-types: talk (expected: one of chat, completion, embeddings,");
    assertThat(translated(ROUND + "--static-model-types chat,chat").get(RoutingKeys.WORKERS))
        .noneMatch(worker -> worker.labels().containsKey(HealthRequestLabel.NAME));
    assertThat(
            translated(
                    "--routing-logic roundrobin --service-discovery static --static-backends"
                        + " http://a:1,http://a:1,http://b:2 --static-models m,n,m"
                        + " --static-model-types chat,embeddings,messages"
                        + " --static-backend-health-checks")
                .get(RoutingKeys.WORKERS))
        .extracting(worker -> worker.labels().get(HealthRequestLabel.NAME))
        .containsExactly("chat:m,embeddings:n", "messages:m");
  }

  @Test
  void requestsAreLoggedAndEnginesHaveIds() {
    assertThat(launched(ROUND).log().requests()).isTrue();
    assertThat(launched(ROUND).stackEndpoints()).isTrue();
    assertThat(launched(ROUND + "--log-requests false").log().requests()).isFalse();
  }

  private static Launch launch(String line) {
    return ProductionStackLauncher.launch(List.of(line.strip().split(" ", -1)), Map.of());
  }

  @ParameterizedTest
  @CsvSource({"kvaware, kv_aware", "loadaware, load_aware", "ttft, cost"})
  void logicsByCachesFollowKvEventsAndTheLogSaysSo(String logic, String policy) {
    Launch launch =
        launch(
            STATIC
                + "--routing-logic "
                + logic
                + " --session-key x-user --lmcache-controller-port 9100 --kv-aware-threshold 2000");
    assertThat(launch.values().get(RoutingKeys.POLICY)).isEqualTo(policy);
    assertThat(launch.values().get(KvEventKeys.MODE)).isEqualTo(KvEventSettings.Mode.AUTO);
    assertThat(launch.values().get(HeaderKeys.SESSION_HEADER)).isEqualTo("x-user");
    assertThat(launch.notes())
        .hasSize(2)
        .anyMatch(note -> note.contains("KV events instead of an LMCache controller"))
        .anyMatch(note -> note.startsWith("--lmcache-controller-port: accepted without effect: "));
    assertThat(launch(ROUND + "--lmcache-worker-timeout 30").notes()).isEmpty();
  }

  @Test
  void theWeightOfLoadComesFromTheFlagOrTheEnvironment() {
    String line = STATIC + "--routing-logic loadaware";
    assertThat(launched(line + " --loadaware-beta 0.5").policies().kvAware().loadWeight())
        .isEqualTo(0.5);
    assertThat(
            ProductionStackLauncher.translate(
                    List.of(line.split(" ", -1)), Map.of("LOADAWARE_BETA", "2"))
                .get(KvAwareKeys.LOAD_WEIGHT))
        .isEqualTo(2);
  }

  @Test
  void theThresholdOfPrioritiesIsTheirDefault() {
    String line = STATIC + "--routing-logic priority ";
    assertThat(launched(line).policies().priority()).isEqualTo(PrioritySettings.DEFAULTS);
    assertThat(launched(line + "--priority-default 3").policies().priority().threshold())
        .isEqualTo(3);
    assertThat(
            launched(
                    line
                        + "--priority-header x-p --priority-field p --priority-default 1"
                        + " --priority-threshold -2")
                .policies()
                .priority())
        .isEqualTo(new PrioritySettings("x-p", "p", 1, -2));
  }

  @Test
  void aShortMatchOfThePrefixCountsAsNone() {
    assertThat(
            launched(STATIC + "--routing-logic prefixaware --prefix-min-match-length 4096")
                .policies()
                .cacheAware()
                .minMatchLength())
        .isEqualTo(4096);
    assertThat(
            launched(STATIC + "--routing-logic prefixaware --prefix-min-match-length -5")
                .policies()
                .cacheAware()
                .minMatchLength())
        .isZero();
  }

  @Test
  void servicesAreFoundByTheirLabels() {
    KubernetesSettings found =
        launched(
                "--routing-logic roundrobin --service-discovery k8s --k8s-label-selector app=vllm"
                    + " --k8s-service-discovery-type service-name")
            .kubernetes();
    assertThat(found.find()).isEqualTo(KubernetesSettings.Find.SERVICES);
    assertThat(found.selector()).hasToString("app=vllm");
  }

  @Test
  void anAliasHasOneColon() {
    assertThat(launched(ROUND + "--static-aliases gpt-4:m,g:n").modelAliases())
        .isEqualTo(Map.of("gpt-4", "m", "g", "n"));
    assertThat(refused(ROUND + "--static-aliases gpt-4"))
        .singleElement()
        .asString()
        .startsWith("--static-aliases: gpt-4 (expected: alias:model");
    assertThat(refused(ROUND + "--static-aliases a:b:c")).hasSize(1);
  }

  @Test
  void roleLabelsMatterOnlyToDisaggregatedLogics() {
    assertThat(translated(ROUND + LABELS).get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::role)
        .containsExactly(Role.REGULAR, Role.REGULAR);
    assertThat(translated(ROUND + "--prefill-model-labels x").get(RoutingKeys.WORKERS)).hasSize(2);
  }

  @ParameterizedTest
  @CsvSource({
    "disaggregated_prefill, secret, true",
    "disaggregated_prefill_orchestrated, '', false",
    "roundrobin, '', false"
  })
  void onlyDisaggregatedPrefillSendsTheKeyOfTheEnvironment(
      String logic, String key, boolean replaces) {
    String labels = logic.equals("roundrobin") ? "" : LABELS;
    List<String> args = List.of((STATIC + labels + "--routing-logic " + logic).split(" ", -1));
    ConfigValues values =
        ProductionStackLauncher.translate(args, Map.of("OPENAI_API_KEY", "secret"));
    assertThat(values.get(ForwardKeys.API_KEY)).isEqualTo(key);
    assertThat(values.get(ForwardKeys.API_KEY_REPLACES)).isEqualTo(replaces);
  }

  static Stream<Flag> refusedFlags() {
    return ProductionStackLauncher.flags(new Wishes()).flags().stream()
        .filter(flag -> flag.effect() instanceof Effect.Refused);
  }

  @ParameterizedTest
  @MethodSource("refusedFlags")
  void unsupportedFlagsAreRefusedByName(Flag flag) {
    String value = flag.shape() == Flag.Shape.SWITCH ? "" : " 7";
    assertThat(refused(ROUND + flag.name() + value))
        .singleElement()
        .asString()
        .startsWith(flag.name() + ": is not supported: ");
  }

  @ParameterizedTest
  @MethodSource("refusedFlags")
  void unsupportedFlagsAreAcceptedAtTheirDefault(Flag flag) {
    if (flag.standard().isEmpty()) {
      return;
    }
    assertThat(translated(ROUND + flag.name() + " " + flag.standard())).isNotNull();
  }

  @Test
  void namesHaveNoPrefixButMayBeAbbreviated() {
    assertThat(refused(ROUND + "--router-port 1"))
        .singleElement()
        .asString()
        .startsWith("--router-port: unknown flag");
    assertThat(launched(ROUND + "--max-instance-failover 1").proxy().retry().maxAttempts())
        .isEqualTo(2);
  }

  @Test
  void aGateThatIsOnIsRefused() {
    assertThat(refused(ROUND + "--feature-gates SemanticCache=true"))
        .containsExactly(
            "--feature-gates: SemanticCache=true (expected: gates that are off, for example"
                + " Name=false)");
  }
}
