package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.rule.SplitSettings;
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

class YamlConfigTest {
  private static ConfigValues parse(String yaml) {
    return YamlConfig.parse("router.yaml", yaml);
  }

  private static void refused(String yaml, String... problems) {
    assertThatThrownBy(() -> parse(yaml))
        .isInstanceOfSatisfying(
            ConfigException.class, e -> assertThat(e.problems()).containsExactly(problems));
  }

  @Test
  void anEmptyFileSetsNothing() {
    assertThat(ConfigText.of(parse(""))).isEqualTo(ConfigText.of(new ConfigValues()));
    assertThat(ConfigText.of(parse("# only a comment\n")))
        .isEqualTo(ConfigText.of(new ConfigValues()));
  }

  @Test
  void nestedKeysAreRead() {
    ConfigValues values =
        parse(
            """
            listen: {host: 0.0.0.0, port: 81}
            retry:
              max-attempts: 3
              initial-backoff: 250ms
            limits:
              max-body: 64KiB
            policy: round_robin
            sse-keepalive: on
            """);
    assertThat(values.get(FrontKeys.HOST)).isEqualTo("0.0.0.0");
    assertThat(values.get(FrontKeys.PORT)).isEqualTo(81);
    assertThat(values.get(ForwardKeys.RETRY_ATTEMPTS)).isEqualTo(3);
    assertThat(values.get(ForwardKeys.RETRY_INITIAL_BACKOFF)).isEqualTo(Duration.ofMillis(250));
    assertThat(values.get(FrontKeys.MAX_BODY)).isEqualTo(65_536);
    assertThat(values.get(RoutingKeys.POLICY)).isEqualTo("round_robin");
    assertThat(values.get(HeaderKeys.SSE_KEEPALIVE)).isEqualTo(Duration.ofSeconds(15));
    assertThat(values.has(FleetKeys.HEALTH_INTERVAL)).isFalse();
  }

  @Test
  void workersAreUrlsOrGroups() {
    List<WorkerSpec> workers =
        parse(
                """
                workers:
                  - http://a:8000/
                  - url: http://b:8000
                    id: big
                    models: [m1, m2]
                    max-in-flight: 7
                    labels: {zone: x}
                  - {url: "http://c:8000", rank: 1}
                """)
            .get(RoutingKeys.WORKERS);
    assertThat(workers).extracting(WorkerSpec::id).containsExactly("a:8000", "big", "c:8000@1");
    assertThat(workers.getFirst()).isEqualTo(WorkerSpec.of("http://a:8000"));
    assertThat(workers.get(1).models()).isEqualTo(Set.of("m1", "m2"));
    assertThat(workers.get(1).maxInFlight()).isEqualTo(7);
    assertThat(workers.get(1).labels()).isEqualTo(Map.of("zone", "x"));
    assertThat(workers.get(2).rank()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{url: \"http://a:1\", id: e}, {url: \"http://b:1\", id: e}"
            + "|e: http://a:1 and http://b:1 have this id (expected: one of them, or in a file an"
            + " id for each: {url: http://b:1, id: NAME})",
        "{url: \"http://a:1\", id: e, rank: 0}, {url: \"http://a:1\", id: e, rank: 1}"
            + "|e: two workers at http://a:1 have this id (expected: one of them, or in a file an"
            + " id for each: {url: http://a:1, id: NAME})",
        "{url: \"http://a:1\", max-in-flight: 2}, {url: \"http://a:1\"}"
            + "|a:1: two workers at http://a:1 have this id (expected: one of them, or in a file"
            + " an id for each: {url: http://a:1, id: NAME})",
      })
  void anIdBelongsToOneWorker(String written, String problem) {
    assertThatThrownBy(() -> PointsmanConfig.from(parse("workers: [" + written + "]")))
        .isInstanceOf(ConfigException.class)
        .hasMessage("workers: " + problem);
  }

  @Test
  void urlsThatDifferInTheirSchemeNeedIds() {
    assertThatThrownBy(() -> PointsmanConfig.from(parse("workers: \"http://a:1,https://a:1\"")))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            "workers: a:1: http://a:1 and https://a:1 have this id (expected: one of them, or in a"
                + " file an id for each: {url: https://a:1, id: NAME})");
    assertThat(
            PointsmanConfig.from(
                    parse("workers: [\"http://a:1\", {url: \"https://a:1\", id: tls}]"))
                .workers())
        .extracting(WorkerSpec::id)
        .containsExactly("a:1", "tls");
  }

  @Test
  void aRepeatedWorkerIsOneWorker() {
    String written = "workers: [http://a:1, http://b:1, http://a:1/]";
    assertThat(PointsmanConfig.from(parse(written)).workers())
        .extracting(WorkerSpec::id)
        .containsExactly("a:1", "b:1");
  }

  @Test
  void workersHaveRolesAndAreKnownAsPeers() {
    List<WorkerSpec> workers =
        parse(
                """
                workers:
                  - {url: "http://p_1:1", role: prefill, bootstrap-port: 8998, kv-address: "p:21001"}
                  - {url: "http://d:1", role: decode, receiver: "10.0.0.2/8300,8301/8400,8401"}
                """)
            .get(RoutingKeys.WORKERS);
    assertThat(workers).extracting(WorkerSpec::role).containsExactly(Role.PREFILL, Role.DECODE);
    assertThat(workers.getFirst().labels())
        .isEqualTo(Map.of("bootstrap-port", "8998", "kv-address", "p:21001"));
    assertThat(workers.getLast().labels())
        .isEqualTo(Map.of("receiver", "10.0.0.2/8300,8301/8400,8401"));
    ConfigValues values = new ConfigValues();
    values.set(RoutingKeys.WORKERS, workers);
    assertThat(parse(ConfigText.of(values)).get(RoutingKeys.WORKERS)).isEqualTo(workers);
  }

  @Test
  void invalidRolesAndPeersAreRefused() {
    refused(
        "workers:\n  - {url: \"http://a:1\", role: both}\n",
        "router.yaml:2: workers[0]: role: both (expected: one of regular, prefill, decode)");
    refused(
        "workers:\n  - {url: \"http://a:1\", bootstrap-port: 0}\n",
        "router.yaml:2: workers[0]: bootstrap-port: 0 (expected: a port, 1 to 65535)");
    refused(
        "workers:\n  - {url: \"http://a:1\", receiver: a}\n",
        "router.yaml:2: workers[0]: receiver: a (expected: host/init ports/alloc ports, ports with"
            + " commas)");
  }

  @Test
  void rolesNeedAProtocol() {
    String worker = "workers:\n  - {url: \"http://a:1\", role: prefill}\n";
    assertThatThrownBy(() -> PointsmanConfig.from(parse(worker)))
        .isInstanceOf(ConfigException.class)
        .hasMessage(
            "workers: a:1: role: prefill (expected: regular while disaggregation.protocol is"
                + " off)");
    PointsmanConfig config =
        PointsmanConfig.from(
            parse(worker + "disaggregation: {protocol: nixl, max-prefills: 3, slot-wait: off}\n"));
    assertThat(config.disagg().protocol()).isEqualTo("nixl");
    assertThat(config.disagg().stages().slotWait()).isZero();
    assertThat(config.fleet().maxPrefills()).isEqualTo(3);
  }

  /**
   * Engines that need a hand-over never get whole requests, neither by default nor by
   * configuration.
   */
  @ParameterizedTest
  @ValueSource(strings = {"moriio", "p2p_nccl", "sglang"})
  void handOverOnlyProtocolsServeNoWholeRequests(String protocol) {
    String head = "disaggregation:\n  protocol: " + protocol + "\n";
    String address = protocol.equals("moriio") ? "  registration-address: \"127.0.0.1:1\"\n" : "";
    SplitSettings split = PointsmanConfig.from(parse(head + address)).disagg().split();
    assertThat(split).isEqualTo(SplitSettings.HALVES_ONLY);
    for (String contrary :
        List.of(
            "decode-can-prefill: true (expected: false",
            "prefill-can-decode: true (expected: false",
            "skip-when-prefill-busy: true (expected: false",
            "uncached-threshold: 512 (expected: 0",
            "cached-share: 0.9 (expected: above 1")) {
      String line = "  " + contrary.substring(0, contrary.indexOf(" (")) + "\n";
      assertThatThrownBy(() -> PointsmanConfig.from(parse(head + address + line)))
          .isInstanceOf(ConfigException.class)
          .hasMessage(
              "disaggregation: "
                  + contrary
                  + " with "
                  + protocol
                  + ", because its engines cannot serve a request without a transfer)");
    }
    String allowed = "  cached-share: 1.5\n  threshold: 9\n  max-pending-prefill: 9\n";
    assertThat(PointsmanConfig.from(parse(head + address + allowed)).disagg().split().threshold())
        .isEqualTo(9);
  }

  @Test
  void labelsAreAListOrAGroup() {
    Map<String, String> labels = Map.of("app", "vllm", "tier.example/x", "");
    for (String written :
        List.of(
            "[app=vllm, tier.example/x=]",
            "app=vllm,tier.example/x=",
            "{app: vllm, tier.example/x: }")) {
      assertThat(parse("kubernetes:\n  selector: " + written).get(KubernetesKeys.SELECTOR))
          .as(written)
          .isEqualTo(PodSelector.of(labels));
    }
  }

  @Test
  void aLabelMayHaveOneOfSeveralValues() {
    PodSelector selector =
        new PodSelector(Map.of("app", Set.of("vllm"), "role", Set.of("a", "b-1", "c")));
    for (String written :
        List.of(
            "[app=vllm, \"role in (a, b-1, c)\"]",
            "\"role  in(c,b-1,a,a),app=vllm\"",
            "{app: vllm, role: [a, b-1, c]}",
            "{app: [vllm], role: [c, b-1, a]}",
            KubernetesKeys.SELECTOR.type().format(selector))) {
      assertThat(parse("kubernetes:\n  selector: " + written).get(KubernetesKeys.SELECTOR))
          .as(written)
          .isEqualTo(selector);
    }
    assertThat(parse("kubernetes:\n  selector: \"app in (a)\"").get(KubernetesKeys.SELECTOR))
        .hasToString("app=a");
  }

  @ParameterizedTest
  @ValueSource(strings = {"app=vllm,tier=a", "app==vllm,tier == a", "app = vllm, tier= a"})
  void labelsAcceptTwoEqualsSignsAndBlanks(String written) {
    assertThat(parse("kubernetes:\n  selector: \"" + written + "\"").get(KubernetesKeys.SELECTOR))
        .hasToString("app=vllm,tier=a");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[\"a in ()\"]",
        "[\"a in (b,)\"]",
        "[\"a in (b\"]",
        "[a in (b, c)]",
        "[\"a notin (b)\"]",
        "[\"!a\"]",
        "[a]",
        "[\"a in (b c)\"]",
        "[\"a b in (c)\"]",
        "[\"a in (b) x\"]",
        "{a: [b, \"\"]}",
        "{a: []}",
        "{a: {b: c}}",
        "[\"a in (b, c)\", a=b]",
      })
  void otherSelectorsAreRefused(String written) {
    assertThatThrownBy(() -> parse("kubernetes:\n  selector: " + written))
        .isInstanceOfSatisfying(
            ConfigException.class,
            e ->
                assertThat(e.problems())
                    .singleElement()
                    .asString()
                    .startsWith("router.yaml:2: kubernetes.selector: ")
                    .contains(" (expected: "));
  }

  @Test
  void anInvalidLabelOrNamespaceIsRefusedWithItsLine() {
    String label =
        " (expected: label=value or label in (a, b), with letters, digits and -_. in label and"
            + " values)";
    refused("kubernetes:\n  selector: [app]\n", "router.yaml:2: kubernetes.selector: app" + label);
    refused(
        "kubernetes:\n  selector: {app: a b}\n",
        "router.yaml:2: kubernetes.selector: app=a b" + label);
    refused(
        "kubernetes:\n  selector: [a=b, a=c]\n",
        "router.yaml:2: kubernetes.selector: a=c beside a=b (expected: each label once)");
    refused(
        "kubernetes:\n  selector: [[a]]\n",
        "router.yaml:2: kubernetes.selector: a list (expected: a list of label=value)");
    refused(
        "kubernetes:\n  namespace: vllmProd\n",
        "router.yaml:2: kubernetes.namespace: vllmProd (expected: a namespace: lower-case letters,"
            + " digits and hyphens; or empty)");
    refused(
        "kubernetes:\n  url: cluster\n",
        "router.yaml:2: kubernetes.url: cluster (expected: a URL such as https://10.0.0.1:6443, or"
            + " empty)");
  }

  @Test
  void anUnknownKeyIsRefusedWithLineAndNearestName() {
    refused(
        "retry:\n  max-attempts: 3\n  max-atempts: 3\n",
        "router.yaml:3: retry.max-atempts: unknown key (did you mean retry.max-attempts?)");
    refused("helth:\n  interval: 3s\n", "router.yaml:2: helth: unknown key (did you mean health?)");
    refused("port: 80\n", "router.yaml:1: port: unknown key (did you mean listen.port?)");
    refused(
        "retry:\n  jitter: 0.1\n",
        "router.yaml:2: retry.jitter: unknown key (did you mean retry.jitter-factor?)");
    refused(
        "workers:\n  - url: http://a:1\n    modls: [x]\n",
        "router.yaml:2: workers[0]: modls: unknown key (did you mean models?)");
    refused("qqqqqqqqqq: 1\n", "router.yaml:1: qqqqqqqqqq: unknown key");
  }

  @Test
  void aWrongValueIsRefusedWithItsExpectedValue() {
    refused(
        "listen:\n  port: 70000\n",
        "router.yaml:2: listen.port: 70000 (expected: a whole number, 0 to 65535)");
    refused(
        "listen:\n  port: high\n",
        "router.yaml:2: listen.port: high (expected: a whole number, 0 to 65535)");
    refused(
        "listen:\n  port:\n",
        "router.yaml:2: listen.port: missing (expected: a whole number, 0 to 65535)");
    refused(
        "listen:\n  port: [1]\n",
        "router.yaml:2: listen.port: a list (expected: a whole number, 0 to 65535)");
    refused(
        "breaker:\n  enabled: yes\n",
        "router.yaml:2: breaker.enabled: yes (expected: true or false)");
    refused(
        "cors:\n  allowed-origins: [[a]]\n",
        "router.yaml:2: cors.allowed-origins[0]: a list (expected: origins such as"
            + " https://chat.example)");
    refused(
        "workers: [ftp://a]\n",
        "router.yaml:1: workers[0]: ftp://a: not http or https (expected: http://host:port with an"
            + " optional path)");
  }

  @Test
  void aWrongItemIsRefusedWithItsOwnLine() {
    refused(
        "workers:\n  - http://a:1\n  - url: http://b:1\n  - ftp://c\n",
        "router.yaml:4: workers[2]: ftp://c: not http or https (expected: http://host:port with an"
            + " optional path)");
    refused(
        "cors:\n  allowed-origins:\n    - https://a.example\n    - [b]\n",
        "router.yaml:4: cors.allowed-origins[1]: a list (expected: origins such as"
            + " https://chat.example)");
  }

  @Test
  void aReferenceWithoutQuotesInAListOnOneLineIsNamed() {
    String hint = " (expected: quotes around a value with ${ in a list or group on one line)";
    for (String list : List.of("[${HOST}]", "[\"http://a:1\", http://${HOST}:1]")) {
      assertThatThrownBy(
              () -> YamlConfig.parse("router.yaml", "policy: random\nworkers: " + list + "\n"))
          .as(list)
          .isInstanceOf(ConfigException.class)
          .hasMessageMatching("router.yaml:2: not YAML: .*")
          .hasMessageEndingWith(hint);
    }
    assertThatThrownBy(() -> YamlConfig.parse("router.yaml", "workers: [a\n"))
        .hasMessageNotContaining("quotes");
  }

  @Test
  void theMessageForAUrlWithAPasswordDoesNotShowIt() {
    refused(
        "workers: [\"http://user:secret@a:1\"]\n",
        "router.yaml:1: workers[0]: http://***@a:1: a user or password (expected: http://host:port"
            + " with an optional path)");
    refused(
        "workers: [{url: \"HTTP://a:1\"}]\n",
        "router.yaml:1: workers[0]: HTTP://a:1: a scheme in upper case (expected: http://host:port"
            + " with an optional path)");
  }

  @Test
  void allProblemsAreReportedTogether() {
    assertThatThrownBy(() -> parse("a: 1\npolicy: x\nlisten:\n  port: x\n"))
        .isInstanceOfSatisfying(ConfigException.class, e -> assertThat(e.problems()).hasSize(3));
  }

  @Test
  void aKeyThatAppearsTwiceIsRefused() {
    refused(
        "policy: random\npolicy: random\n",
        "router.yaml:2: policy: appears twice (expected: once)");
  }

  @Test
  void anythingButKeysIsRefused() {
    refused("- a\n", "router.yaml:1: not a group of keys (expected: key: value)");
    refused("retry: 5\n", "router.yaml:1: retry: not a group of keys (expected: key: value)");
    refused("[a]: 1\n", "router.yaml:1: a key that is not a name (expected: a name)");
  }

  @Test
  void invalidYamlIsRefusedWithItsLine() {
    assertThatThrownBy(() -> parse("a: b\n  c: [\n"))
        .isInstanceOf(ConfigException.class)
        .hasMessageMatching("router.yaml:\\d: not YAML: .*");
  }

  @Test
  void deepNestingIsRefused() {
    assertThatThrownBy(() -> parse("workers: " + "[".repeat(50) + "]".repeat(50)))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("nested too deep");
  }

  @Test
  void aMissingFileIsNamed(@TempDir Path folder) {
    Path file = folder.resolve("none.yaml");
    assertThatThrownBy(() -> YamlConfig.read(file, Map.of()))
        .hasMessage(file + ": no such file (expected: a YAML file)");
  }

  @Test
  void bytesThatAreNotTextAreRefused(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("x.yaml"), new byte[] {(byte) 0xc3, 0x28});
    assertThatThrownBy(() -> YamlConfig.read(file, Map.of())).hasMessageContaining("not UTF-8");
  }

  @Test
  void lessMemoryForAllBodiesThanForOneIsRefused() {
    String limits = "limits: {max-buffered-body: 4MiB, max-buffered-total: ";
    assertThatThrownBy(
            () -> PointsmanConfig.from(YamlConfig.parse("router.yaml", limits + "4194303}")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(
            "limits.max-buffered-total: 4194303 (expected: at least limits.max-buffered-body,"
                + " 4194304)");
    assertThat(
            PointsmanConfig.from(YamlConfig.parse("router.yaml", limits + "4MiB}"))
                .proxy()
                .limits()
                .maxBufferedTotal())
        .isEqualTo(4 << 20);
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(
                    YamlConfig.parse(
                        "router.yaml", "limits: {max-buffered-body: 0, max-buffered-total: 1000}")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("limits.max-buffered-total: 1000 (expected: 0, or 1 MiB or more)");
  }
}
