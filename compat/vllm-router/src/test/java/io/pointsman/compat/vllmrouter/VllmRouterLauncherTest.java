package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.groups.Tuple.tuple;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class VllmRouterLauncherTest {
  @TempDir Path directory;

  private static PointsmanConfig launched(String line) {
    return PointsmanConfig.from(translated(line));
  }

  private static ConfigValues translated(String line) {
    List<String> args = line.isBlank() ? List.of() : List.of(line.split(" ", -1));
    return VllmRouterLauncher.translate(args, Map.of());
  }

  @Test
  void activeRequestsAreNotCutAtShutdown() {
    ConfigValues values = VllmRouterLauncher.translate(List.of(), Map.of());
    assertThat(values.get(OperationKeys.DRAIN_TIMEOUT)).isEqualTo(Duration.ofHours(24));
  }

  @Test
  void withoutFlagsTheDefaultsAreThoseOfVllmRouter() {
    PointsmanConfig config = launched("");
    assertThat(config.proxy().listen().host()).isEqualTo("127.0.0.1");
    assertThat(config.proxy().listen().port()).isEqualTo(30_000);
    assertThat(config.policy()).isEqualTo("cache_aware");
    assertThat(config.workers()).isEmpty();
    assertThat(config.proxy().limits().maxBodyBytes()).isEqualTo(536_870_912);
    assertThat(config.proxy().admission().maxConcurrentRequests()).isEqualTo(32_768);
    assertThat(config.proxy().admission().queueSize()).isEqualTo(100);
    assertThat(config.proxy().admission().queueTimeout()).isEqualTo(Duration.ofMinutes(1));
    assertThat(config.metrics().host()).isEqualTo("127.0.0.1");
    assertThat(config.metrics().port()).isEqualTo(29_000);
    assertThat(config.metrics().vllmRouterNames()).isTrue();
    assertThat(config.log().level()).isEqualTo(LogSettings.Level.INFO);
    assertThat(config.admin().addTimeout()).isEqualTo(Duration.ofMinutes(10));
    assertThat(config.admin().enabled()).isTrue();
  }

  @Test
  void defaultsOfHealthBreakerRetriesAndTimeoutsAreThoseOfVllmRouter() {
    PointsmanConfig config = launched("");
    assertThat(config.probes().endpoint()).isEqualTo("/health");
    assertThat(config.probes().interval()).isEqualTo(Duration.ofMinutes(1));
    assertThat(config.probes().timeout()).isEqualTo(Duration.ofSeconds(5));
    assertThat(config.fleet().health().failureThreshold()).isEqualTo(3);
    assertThat(config.fleet().health().successThreshold()).isEqualTo(2);
    assertThat(config.fleet().breaker().enabled()).isTrue();
    assertThat(config.fleet().breaker().failureThreshold()).isEqualTo(10);
    assertThat(config.fleet().breaker().successThreshold()).isEqualTo(3);
    assertThat(config.fleet().breaker().openFor()).isEqualTo(Duration.ofMinutes(1));
    assertThat(config.fleet().breaker().window()).isEqualTo(Duration.ofMinutes(2));
    assertThat(config.proxy().retry().maxAttempts()).isEqualTo(5);
    assertThat(config.proxy().retry().afterLateReset()).isTrue();
    assertThat(config.proxy().retry().initialBackoff()).isEqualTo(Duration.ofMillis(50));
    assertThat(config.proxy().retry().maxBackoff()).isEqualTo(Duration.ofSeconds(30));
    assertThat(config.proxy().timeouts().total()).isEqualTo(Duration.ofMinutes(30));
    assertThat(config.proxy().timeouts().streamTotal()).isEqualTo(Duration.ofMinutes(30));
    assertThat(config.proxy().upstream().connectTimeout()).isEqualTo(Duration.ofSeconds(10));
    assertThat(config.proxy().upstream().poolIdleTimeout()).isEqualTo(Duration.ofSeconds(2));
  }

  @Test
  void withoutFlagsItBehavesAsVllmRouterDoes() {
    PointsmanConfig config = launched("");
    assertThat(config.proxy().admission().queueTimeoutStatus()).isEqualTo(408);
    assertThat(config.engine().unknownModel()).isEqualTo(UnknownModel.ANY_WORKER);
    assertThat(config.proxy().cors().enabled()).isTrue();
    assertThat(config.proxy().cors().allowedOrigins()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "API_KEY_VALIDATION_URLS=https://keys.example/check",
        "A=b\n  export API_KEY_VALIDATION_URLS = \"https://keys.example\""
      })
  void keyValidationInAnEnvFileIsNotIgnored(String text) throws IOException {
    Files.writeString(directory.resolve(".env"), text);
    Path below = Files.createDirectories(directory.resolve("below"));
    for (Path at : List.of(directory, below)) {
      assertThatThrownBy(() -> VllmRouterLauncher.translate(List.of(), Map.of(), at))
          .isInstanceOf(ConfigException.class)
          .hasMessageContaining(
              "API_KEY_VALIDATION_URLS: set in "
                  + directory.resolve(".env")
                  + ", but the router does not read this file");
    }
    assertThat(
            VllmRouterLauncher.translate(
                    List.of("--api-key-validation-urls", "https://k"), Map.of(), directory)
                .get(AdminKeys.VALIDATION_URLS))
        .containsExactly("https://k");
    VllmRouterLauncher.translate(
        List.of("--auth-validation-urls", "https://k"), Map.of(), directory);
    VllmRouterLauncher.translate(
        List.of(), Map.of("API_KEY_VALIDATION_URLS", "https://k"), directory);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "# API_KEY_VALIDATION_URLS=https://k",
        "API_KEY_VALIDATION_URLS=",
        "API_KEY_VALIDATION_URLS= # none",
        "OTHER_API_KEY_VALIDATION_URLS=https://k"
      })
  void anEnvFileWithoutKeyValidationIsIgnored(String text) throws IOException {
    Files.writeString(directory.resolve(".env"), text);
    assertThat(
            VllmRouterLauncher.translate(List.of(), Map.of(), directory)
                .get(AdminKeys.VALIDATION_URLS))
        .isEmpty();
  }

  @Test
  void namesOfContainersMayHaveAnUnderscore() {
    assertThat(launched("--worker-urls http://vllm_engine_1:8000").workers())
        .extracting(WorkerSpec::url, WorkerSpec::id)
        .containsExactly(tuple("http://vllm_engine_1:8000", "vllm_engine_1:8000"));
  }

  @Test
  void repeatedListsAddUp() {
    PointsmanConfig config =
        launched(
            "--worker-urls http://a:1 http://b:2 --worker-urls=http://c:3"
                + " --cors-allowed-origins https://a --request-id-headers x-a"
                + " --cors-allowed-origins https://b --request-id-headers x-b");
    assertThat(config.workers())
        .extracting(WorkerSpec::url)
        .containsExactly("http://a:1", "http://b:2", "http://c:3");
    assertThat(config.proxy().cors().allowedOrigins()).containsExactly("https://a", "https://b");
    assertThat(config.proxy().headers().requestIdHeaders()).containsExactly("x-a", "x-b");
  }

  @Test
  void everyListenerFlagIsTranslated() {
    PointsmanConfig config =
        launched(
            "--host 0.0.0.0 --port 8000 --max-payload-size 1048576 --request-id-headers x-a x-b"
                + " --cors-allowed-origins https://a.example https://b.example"
                + " --max-concurrent-requests 2 --queue-size 0 --queue-timeout-secs 1"
                + " --rate-limit-tokens-per-second 7 --enable-igw");
    assertThat(config.proxy().listen().host()).isEqualTo("0.0.0.0");
    assertThat(config.proxy().listen().port()).isEqualTo(8000);
    assertThat(config.proxy().limits().maxBodyBytes()).isEqualTo(1_048_576);
    assertThat(config.proxy().headers().requestIdHeaders()).containsExactly("x-a", "x-b");
    assertThat(config.proxy().cors().allowedOrigins())
        .containsExactly("https://a.example", "https://b.example");
    assertThat(config.proxy().admission().maxConcurrentRequests()).isEqualTo(2);
    assertThat(config.proxy().admission().queueSize()).isZero();
    assertThat(config.proxy().admission().ratePerSecond()).isEqualTo(7);
    assertThat(config.proxy().admission().queueTimeout()).isEqualTo(Duration.ofSeconds(1));
  }

  @Test
  void everyProbeAndBreakerFlagIsTranslated() {
    PointsmanConfig config =
        launched(
            "--worker-startup-timeout-secs 5 --health-failure-threshold 4"
                + " --health-success-threshold 5 --health-check-timeout-secs 6"
                + " --health-check-interval-secs 7 --health-check-endpoint /ping"
                + " --cb-failure-threshold 8 --cb-success-threshold 9"
                + " --cb-timeout-duration-secs 10 --cb-window-duration-secs 11"
                + " --disable-circuit-breaker");
    assertThat(config.admin().addTimeout()).isEqualTo(Duration.ofSeconds(5));
    assertThat(config.fleet().health().failureThreshold()).isEqualTo(4);
    assertThat(config.fleet().health().successThreshold()).isEqualTo(5);
    assertThat(config.probes().timeout()).isEqualTo(Duration.ofSeconds(6));
    assertThat(config.probes().interval()).isEqualTo(Duration.ofSeconds(7));
    assertThat(config.probes().endpoint()).isEqualTo("/ping");
    assertThat(config.fleet().breaker().failureThreshold()).isEqualTo(8);
    assertThat(config.fleet().breaker().successThreshold()).isEqualTo(9);
    assertThat(config.fleet().breaker().openFor()).isEqualTo(Duration.ofSeconds(10));
    assertThat(config.fleet().breaker().window()).isEqualTo(Duration.ofSeconds(11));
    assertThat(config.fleet().breaker().enabled()).isFalse();
  }

  @Test
  void everyForwardingAndOperationFlagIsTranslated() {
    PointsmanConfig config =
        launched(
            "--request-timeout-secs 14400 --pool-idle-timeout-secs 0 --retry-max-retries 3"
                + " --retry-initial-backoff-ms 10 --retry-max-backoff-ms 20"
                + " --retry-backoff-multiplier 2.5 --retry-jitter-factor 0.5"
                + " --prometheus-host 0.0.0.0 --prometheus-port 9 --log-level warning"
                + " --compat-metrics off --api-key secret");
    assertThat(config.proxy().timeouts().total()).isEqualTo(Duration.ofHours(4));
    assertThat(config.proxy().timeouts().streamTotal()).isEqualTo(Duration.ofHours(4));
    assertThat(config.proxy().timeouts().firstByte()).isEqualTo(Duration.ofHours(4));
    assertThat(config.proxy().upstream().poolIdleTimeout()).isZero();
    assertThat(config.proxy().upstream().keys().all()).isEqualTo("secret");
    assertThat(config.proxy().retry().maxAttempts()).isEqualTo(3);
    assertThat(config.proxy().retry().initialBackoff()).isEqualTo(Duration.ofMillis(10));
    assertThat(config.proxy().retry().maxBackoff()).isEqualTo(Duration.ofMillis(20));
    assertThat(config.proxy().retry().multiplier()).isEqualTo(2.5);
    assertThat(config.proxy().retry().jitter()).isEqualTo(0.5);
    assertThat(config.metrics().host()).isEqualTo("0.0.0.0");
    assertThat(config.metrics().port()).isEqualTo(9);
    assertThat(config.metrics().vllmRouterNames()).isFalse();
    assertThat(config.log().level()).isEqualTo(LogSettings.Level.WARN);
  }

  @Test
  void theFirstPauseAndOwnTimesMayBeZero() {
    PointsmanConfig config = launched("--retry-initial-backoff-ms 0 --defer-beyond 0");
    assertThat(config.proxy().retry().initialBackoff()).isZero();
    assertThat(config.proxy().deferral().beyond()).isZero();
  }

  @Test
  void everyRoutingFlagIsTranslated() {
    ConfigValues values =
        translated(
            "--worker-urls http://a:1 http://b:2/ --policy consistent_hash --cache-threshold 0.99"
                + " --balance-abs-threshold 0 --balance-rel-threshold 1.0"
                + " --max-tree-size 67108864");
    assertThat(values.get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url)
        .containsExactly("http://a:1", "http://b:2");
    assertThat(values.get(RoutingKeys.POLICY)).isEqualTo("consistent_hash");
    assertThat(values.get(RoutingKeys.CACHE_THRESHOLD)).isEqualTo(0.99);
    assertThat(values.get(RoutingKeys.BALANCE_ABS)).isZero();
    assertThat(values.get(RoutingKeys.BALANCE_REL)).isEqualTo(1.0);
    assertThat(values.get(RoutingKeys.INDEX_MAX_BYTES))
        .isEqualTo(2 * RoutingKeys.INDEX_MAX_BYTES.defaultValue());
  }

  @Test
  void dataParallelRanksBecomeWorkers() {
    PointsmanConfig config =
        launched("--intra-node-data-parallel-size 2 --worker-urls http://a:1 http://b:2");
    assertThat(config.workers())
        .extracting(WorkerSpec::id)
        .containsExactly("a:1@0", "a:1@1", "b:2@0", "b:2@1");
    assertThat(config.admin().dataParallelSize()).isEqualTo(2);
  }

  @Test
  void retriesCanBeSwitchedOff() {
    assertThat(launched("--disable-retries").proxy().retry().maxAttempts()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--policy=random --port=1",
        "--router-policy random --port 1",
        "--router-policy=random --por 1",
        "--poli random --port 1",
        "--policy round_robin --port 2 --policy random --port 1"
      })
  void aFlagMayBeWrittenInSeveralWays(String line) {
    PointsmanConfig config = launched(line);
    assertThat(config.policy()).isEqualTo("random");
    assertThat(config.proxy().listen().port()).isEqualTo(1);
  }

  @Test
  void theSpellingsOfBothLaunchersAreKnown() {
    assertThat(launched("--eviction-interval 5 --runtime trtllm").workers()).isEmpty();
    assertThat(launched("--eviction-interval-secs 5 --backend vllm").workers()).isEmpty();
  }

  @Test
  void theSessionTimeOfTheEnvironmentIsHonoured() {
    ConfigValues values =
        VllmRouterLauncher.translate(
            List.of(), Map.of("VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S", "77"));
    assertThat(values.get(RoutingKeys.STICKY_IDLE)).isEqualTo(Duration.ofSeconds(77));
  }

  @Test
  void validationServersComeFromFlagOrEnvironment() {
    assertThat(launched("--api-key-validation-urls http://a http://b").auth().validationUrls())
        .containsExactly("http://a", "http://b");
    ConfigValues values =
        VllmRouterLauncher.translate(
            List.of(), Map.of("API_KEY_VALIDATION_URLS", "http://a,http://b"));
    assertThat(PointsmanConfig.from(values).auth().validationUrls())
        .containsExactly("http://a", "http://b");
  }

  @Test
  void noTwoFlagsShareAName() {
    List<String> names =
        VllmRouterLauncher.FLAGS.flags().stream().flatMap(f -> f.names().stream()).toList();
    assertThat(names).doesNotHaveDuplicates().allMatch(name -> name.startsWith("--"));
  }

  @Test
  void everyFlagOfTheReleaseIsKnown() {
    Set<String> release =
        Set.of(
            ("--host --port --worker-urls --policy --prefill-policy --decode-policy"
                    + " --vllm-pd-disaggregation --prefill --decode --vllm-discovery-address"
                    + " --kv-connector --pd-kv-events --kv-event-source --kv-event-replay-source"
                    + " --kv-event-block-size --kv-event-model --router-temperature"
                    + " --kv-penalty-host --kv-penalty-external --kv-penalty-disk"
                    + " --kv-aware-session-affinity-ttl-secs --cache-threshold"
                    + " --balance-abs-threshold --balance-rel-threshold --eviction-interval"
                    + " --eviction-interval-secs --max-tree-size --max-payload-size"
                    + " --wasm-middleware --wasm-middleware-sha256 --wasm-middleware-route"
                    + " --intra-node-data-parallel-size --enable-program-scheduling"
                    + " --program-scheduling-config-json --epd-config --api-key"
                    + " --api-key-validation-urls --backend --runtime --log-dir --log-level"
                    + " --enable-trace --otlp-traces-endpoint --otel-sampling-ratio"
                    + " --otel-excluded-paths --service-discovery --selector --prefill-selector"
                    + " --decode-selector --service-discovery-port --service-discovery-namespace"
                    + " --prometheus-host --prometheus-port --request-id-headers"
                    + " --request-timeout-secs --pool-idle-timeout-secs --max-concurrent-requests"
                    + " --queue-size --queue-timeout-secs --rate-limit-tokens-per-second"
                    + " --cors-allowed-origins --retry-max-retries --retry-initial-backoff-ms"
                    + " --retry-max-backoff-ms --retry-backoff-multiplier --retry-jitter-factor"
                    + " --disable-retries --cb-failure-threshold --cb-success-threshold"
                    + " --cb-timeout-duration-secs --cb-window-duration-secs"
                    + " --disable-circuit-breaker --health-failure-threshold"
                    + " --health-success-threshold --health-check-timeout-secs"
                    + " --health-check-interval-secs --health-check-endpoint"
                    + " --worker-startup-timeout-secs --worker-startup-check-interval --enable-igw"
                    + " --history-backend --profile --mini-lb")
                .split(" ", -1));
    assertThat(VllmRouterLauncher.FLAGS.flags().stream().flatMap(f -> f.names().stream()))
        .containsAll(release);
  }

  @Test
  void anOpenAiServerIsProbedByItsModelsAndMayRequireAKey() {
    PointsmanConfig config = launched("--backend openai --worker-urls https://api.example/base");
    assertThat(config.workers()).containsExactly(WorkerSpec.of("https://api.example/base"));
    assertThat(config.probes().endpoint()).isEqualTo("/v1/models");
    assertThat(config.probes().alsoGood()).containsExactly(401, 403);
    assertThat(config.admin().mergedModels()).isFalse();
  }

  @Test
  void anOpenAiServerMayHaveAHealthPathOfItsOwn() {
    String line = "--health-check-endpoint /up --runtime openai --worker-urls http://a";
    assertThat(launched(line).probes().endpoint()).isEqualTo("/up");
  }

  @Test
  void withoutFlagsNothingIsTraced() {
    TracingSettings tracing = launched("").tracing();
    assertThat(tracing.enabled()).isFalse();
    assertThat(tracing.endpoint()).isEqualTo("http://localhost:4317");
    assertThat(tracing.protocol()).isEqualTo(TracingSettings.Protocol.GRPC);
    assertThat(tracing.samplingRatio()).isEqualTo(1.0);
    assertThat(tracing.excludedPaths()).isEqualTo(TracingSettings.DEFAULTS.excludedPaths());
    assertThat(tracing.serviceName()).isEqualTo("vllm-router");
  }

  @Test
  void tracingFlagsAreTranslated() {
    TracingSettings tracing =
        launched(
                "--enable-trace --otlp-traces-endpoint collector:4317 --otel-sampling-ratio 0.25"
                    + " --otel-excluded-paths /a /b")
            .tracing();
    assertThat(tracing.enabled()).isTrue();
    assertThat(tracing.endpoint()).isEqualTo("http://collector:4317");
    assertThat(tracing.samplingRatio()).isEqualTo(0.25);
    assertThat(tracing.excludedPaths()).containsExactly("/a", "/b");
  }

  @Test
  void theCollectorCanComeFromTheEnvironment() {
    Map<String, String> environment = Map.of("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:1");
    assertThat(
            PointsmanConfig.from(VllmRouterLauncher.translate(List.of(), environment))
                .tracing()
                .endpoint())
        .isEqualTo("https://c:1");
    List<String> flag = List.of("--otlp-traces-endpoint", "http://d:2");
    assertThat(
            PointsmanConfig.from(VllmRouterLauncher.translate(flag, environment))
                .tracing()
                .endpoint())
        .isEqualTo("http://d:2");
  }
}
