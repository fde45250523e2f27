package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.groups.Tuple.tuple;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.protocol.ProtocolSettings.MinTokens;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PdFlagsTest {
  private static final String PAIR =
      "--vllm-pd-disaggregation --prefill http://p1:8000 --decode http://d1:8000";

  private static ConfigValues translated(String line) {
    return translated(line, Map.of());
  }

  private static ConfigValues translated(String line, Map<String, String> environment) {
    return VllmRouterLauncher.translate(List.of(line.split(" ", -1)), environment);
  }

  private static List<String> refused(String line) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> translated(line))
        .actual()
        .problems();
  }

  @Test
  void enginesHaveTheirRolesAndBootstrapPorts() {
    ConfigValues values =
        translated(
            "--vllm-pd-disaggregation --prefill http://p1:8000 8998 --prefill http://p2:8000 none"
                + " --prefill http://p3:8000 --prefill http://p4:8000/ 9000"
                + " --decode http://d1:8000 --decode http://d2:8000");
    assertThat(values.get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url, WorkerSpec::role, w -> w.labels().get("bootstrap-port"))
        .containsExactly(
            tuple("http://p1:8000", Role.PREFILL, "8998"),
            tuple("http://p2:8000", Role.PREFILL, null),
            tuple("http://p3:8000", Role.PREFILL, null),
            tuple("http://p4:8000", Role.PREFILL, "9000"),
            tuple("http://d1:8000", Role.DECODE, null),
            tuple("http://d2:8000", Role.DECODE, null));
  }

  @Test
  void theDefaultIsNixlWithTheCommonPolicy() {
    ConfigValues values = translated(PAIR + " --policy power_of_two");
    assertThat(values.get(DisaggKeys.PROTOCOL)).isEqualTo("nixl");
    assertThat(values.get(DisaggKeys.PREFILL_POLICY)).isEqualTo("power_of_two");
    assertThat(values.get(DisaggKeys.DECODE_POLICY)).isEqualTo("power_of_two");
    assertThat(values.get(DisaggKeys.MIN_TOKENS)).isEqualTo(MinTokens.ONE);
    assertThat(values.get(DisaggKeys.CACHED_SHARE)).as("all are split").isGreaterThan(1);
    assertThat(values.get(DisaggKeys.PREFILL_TIMEOUT)).isEqualTo(Duration.ofMinutes(30));
    assertThat(values.get(PeerKeys.REGISTRATION_ADDRESS)).isEmpty();
  }

  @Test
  void everyFlagIsTranslated() {
    ConfigValues values =
        translated(
            PAIR
                + " --prefill-policy cache_aware --decode-policy round_robin"
                + " --kv-connector moriio --vllm-discovery-address 0.0.0.0:30001"
                + " --request-timeout-secs 60");
    assertThat(values.get(DisaggKeys.PREFILL_POLICY)).isEqualTo("cache_aware");
    assertThat(values.get(DisaggKeys.DECODE_POLICY)).isEqualTo("round_robin");
    assertThat(values.get(DisaggKeys.PROTOCOL)).isEqualTo("moriio");
    assertThat(values.get(PeerKeys.REGISTRATION_ADDRESS)).isEqualTo("0.0.0.0:30001");
    assertThat(values.get(DisaggKeys.DECODE_TIMEOUT)).isEqualTo(Duration.ofMinutes(1));
  }

  @ParameterizedTest
  @CsvSource({
    "--kv-connector nixl, nixl",
    "--kv-connector mooncake, mooncake",
    "--kv-connector sglang, sglang",
    "--kv-connector p2p-nccl, p2p_nccl",
    "--vllm-discovery-address *:1, p2p_nccl",
    "--vllm-discovery-address *:1 --kv-connector nixl, nixl",
  })
  void theProtocolIsThatOfTheConnector(String flags, String protocol) {
    assertThat(translated(PAIR + " " + flags).get(DisaggKeys.PROTOCOL)).isEqualTo(protocol);
  }

  @Test
  void eachRankIsAWorkerInBothRoles() {
    assertThat(translated(PAIR + " --intra-node-data-parallel-size 2").get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::id)
        .containsExactly("p1:8000@0", "p1:8000@1", "d1:8000@0", "d1:8000@1");
  }

  @Test
  void registeredOrDiscoveredEnginesNeedNoFlags() {
    translated("--vllm-pd-disaggregation --vllm-discovery-address 127.0.0.1:30001");
    translated("--vllm-pd-disaggregation --service-discovery --prefill-selector a=b");
  }

  @Test
  void theKeyInTheEnvironmentIsForEngines() {
    Map<String, String> environment = Map.of("OPENAI_API_KEY", "k1");
    assertThat(translated(PAIR, environment).get(ForwardKeys.API_KEY)).isEqualTo("k1");
    assertThat(translated(PAIR + " --api-key k2", environment).get(ForwardKeys.API_KEY))
        .isEqualTo("k2");
    ConfigValues regular = translated("--worker-urls http://a", environment);
    assertThat(regular.get(ForwardKeys.API_KEY)).isEmpty();
    assertThat(regular.get(ForwardKeys.API_KEY_REPLACES)).isFalse();
  }

  @Test
  void theKeyInTheEnvironmentReplacesTheClientsForListedEngines() {
    Map<String, String> environment = Map.of("OPENAI_API_KEY", "k1");
    assertThat(translated(PAIR, environment).get(ForwardKeys.API_KEY_REPLACES)).isTrue();
    assertThat(translated(PAIR + " --api-key k2").get(ForwardKeys.API_KEY_REPLACES)).isFalse();
    String registering = "--vllm-pd-disaggregation --vllm-discovery-address 127.0.0.1:30001";
    assertThat(translated(registering, environment).get(ForwardKeys.API_KEY_REPLACES)).isFalse();
  }

  @Test
  void withoutTheModeNothingIsSplitAndItsFlagsAreRefused() {
    assertThat(translated("--kv-connector nixl").get(DisaggKeys.PROTOCOL)).isEqualTo("off");
    assertThat(
            refused(
                "--prefill http://p --decode http://d --vllm-discovery-address a:1"
                    + " --kv-connector mooncake --prefill-policy random --decode-policy random"))
        .containsExactly(
            "--prefill: given without --vllm-pd-disaggregation",
            "--decode: given without --vllm-pd-disaggregation",
            "--vllm-discovery-address: given without --vllm-pd-disaggregation",
            "--kv-connector: given without --vllm-pd-disaggregation",
            "--prefill-policy: given without --vllm-pd-disaggregation",
            "--decode-policy: given without --vllm-pd-disaggregation");
  }

  @ParameterizedTest
  @CsvSource({
    "--prefill http://p2 0, --prefill: http://p2 0 (expected: a port",
    "--prefill http://p2 70000, --prefill: http://p2 70000 (expected: a port",
    "--prefill http://p2 1 2, --prefill: 2 (expected: a URL before it",
    "--prefill p2, --prefill: p2 (expected: http://host:port",
    "--decode grpc://d2, --decode: grpc://d2 is not supported yet: engines behind gRPC",
    "--decode http://p1:8000, '--prefill, --decode: http://p1:8000 twice'",
    "--kv-connector lmcache, --kv-connector: lmcache is not a connector of vllm-router",
    "--kv-connector infinistore, --kv-connector: infinistore (expected: one of mooncake",
    "--kv-connector moriio, --kv-connector: moriio without --vllm-discovery-address",
    "--prefill-policy kv_awry, --prefill-policy: kv_awry (expected: one of",
    "--decode-policy fastest, --decode-policy: fastest (expected: one of",
    "--vllm-discovery-address 30001, --vllm-discovery-address: 30001 (expected: host:port",
    "--worker-urls http://a, --worker-urls: given with --vllm-pd-disaggregation",
  })
  void invalidFlagsAreRefusedWithTheReason(String flags, String reason) {
    assertThat(refused(PAIR + " " + flags)).singleElement().asString().startsWith(reason);
  }

  @Test
  void aPortWithoutAUrlIsRefused() {
    assertThat(refused("--vllm-pd-disaggregation --prefill 8998 --decode http://d"))
        .first()
        .asString()
        .startsWith("--prefill: 8998 (expected: a URL before it");
  }

  @ParameterizedTest
  @CsvSource({"--prefill http://p1", "--decode http://d1"})
  void oneRoleAloneIsRefused(String flags) {
    assertThat(refused("--vllm-pd-disaggregation " + flags))
        .singleElement()
        .asString()
        .startsWith("--vllm-pd-disaggregation: ")
        .contains("expected: at least one of each");
  }

  @Test
  void anOpenAiBackendIsNotSplit() {
    assertThat(refused("--vllm-pd-disaggregation --backend openai --worker-urls http://a"))
        .anyMatch(problem -> problem.startsWith("--vllm-pd-disaggregation: given with --backend"));
  }
}
