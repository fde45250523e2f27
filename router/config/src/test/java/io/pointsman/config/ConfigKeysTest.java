package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.BatchKeys;
import io.pointsman.config.key.ClientLimitKeys;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.DecideKeys;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.DiscoveryKeys;
import io.pointsman.config.key.EngineTlsKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.KvAwareKeys;
import io.pointsman.config.key.KvEventKeys;
import io.pointsman.config.key.KvTokenKeys;
import io.pointsman.config.key.ListenerKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.PeerKeys;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.ServerTlsKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.config.settings.DecideSettings;
import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.tier.TierSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import io.pointsman.request.AffinitySettings;
import io.pointsman.testkit.GeneratedPage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigKeysTest {
  /** Texts of values; for every key, one of them differs from the default. */
  private static final List<String> CANDIDATES =
      List.of(
          "services",
          "low",
          "forward",
          "all",
          "false",
          "true",
          "7",
          "0.25",
          "0.7",
          "1.25",
          "70ms",
          "7s",
          "7m",
          "7h",
          "37KiB",
          "37MiB",
          "408",
          "40800",
          "random",
          "epoll",
          "any-worker",
          "soft",
          "error",
          "json",
          "/other",
          "http://h:1",
          "http",
          "app=vllm",
          "h:1",
          "nixl",
          "replace",
          "length",
          "one",
          "always",
          "h/1/2",
          "auto",
          "tcp://h:1",
          "m=random",
          "other",
          "m=7",
          "optional",
          "jdk",
          "10.0.0.0/8",
          "http://h:1=k",
          keyFile());

  private static String keyFile() {
    try {
      Path file = Files.writeString(Files.createTempFile("pointsman", ".key"), "from-a-file");
      file.toFile().deleteOnExit();
      return file.toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void defaultsAreThoseOfTheRecords() {
    PointsmanConfig config = PointsmanConfig.from(new ConfigValues());
    assertThat(config.workers()).isEmpty();
    assertThat(config.discovery()).isEqualTo(DiscoverySettings.DEFAULTS);
    assertThat(config.kubernetes()).isEqualTo(KubernetesSettings.DEFAULTS);
    assertThat(config.policy()).isEqualTo("cost");
    assertThat(config.policies()).isEqualTo(PolicySettings.DEFAULTS);
    assertThat(config.models()).isEmpty();
    assertThat(config.tiers()).isEqualTo(TierSettings.DEFAULTS);
    assertThat(config.disagg()).isEqualTo(DisaggSettings.DEFAULTS);
    assertThat(config.kvEvents()).isEqualTo(KvEventSettings.DEFAULTS);
    assertThat(config.engine()).isEqualTo(EngineSettings.DEFAULTS);
    assertThat(config.fleet()).isEqualTo(FleetSettings.DEFAULTS);
    assertThat(config.affinity()).isEqualTo(AffinitySettings.DEFAULT);
    assertThat(config.proxy()).isEqualTo(ProxySettings.DEFAULTS);
    assertThat(config.controlKeys()).isEqualTo(EngineKeys.NONE);
    assertThat(config.engineTls()).isEqualTo(EngineTlsSettings.DEFAULTS);
    assertThat(config.probes()).isEqualTo(ProbeSettings.DEFAULTS);
    assertThat(config.metrics()).isEqualTo(MetricsSettings.DEFAULTS);
    assertThat(config.log()).isEqualTo(LogSettings.DEFAULTS);
    assertThat(config.access()).isEqualTo(AccessSettings.DEFAULTS);
    assertThat(config.decide()).isEqualTo(DecideSettings.DEFAULTS);
    assertThat(config.decisions()).isEqualTo(DecisionSettings.DEFAULTS);
    assertThat(config.capture()).isEqualTo(CaptureSettings.DEFAULTS);
    assertThat(config.tracing()).isEqualTo(TracingSettings.DEFAULTS);
    assertThat(config.batch()).isEqualTo(BatchSettings.DEFAULTS);
  }

  @Test
  void everyKeyReachesTheConfiguration() {
    List<String> ignored = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      if (PointsmanConfig.from(changed(key)).equals(without(key))) {
        ignored.add(key.path());
      }
    }
    assertThat(ignored).isEmpty();
  }

  /** Keys that are valid only with a protocol, or only with this one. */
  private static final Map<Key<?>, String> PROTOCOLS =
      Map.of(
          PeerKeys.REGISTRATION_ADDRESS, "p2p_nccl",
          PeerKeys.NOTIFICATION_ADDRESS, "lmcache",
          KubernetesKeys.PREFILL_SELECTOR, "nixl",
          KubernetesKeys.DECODE_SELECTOR, "nixl");

  private static final List<ServerTlsKeys> LISTENERS =
      List.of(ServerTlsKeys.CLIENTS, ServerTlsKeys.ADMIN, ServerTlsKeys.METRICS);

  private static ConfigValues base(Key<?> key) {
    ConfigValues values = new ConfigValues();
    if (key.equals(KvEventKeys.ENDPOINT) || key.equals(KvEventKeys.REPLAY_ENDPOINT)) {
      values.set(KvEventKeys.MODE, KvEventSettings.Mode.STATIC);
    }
    if (key.equals(KvEventKeys.REPLAY_ENDPOINT)) {
      values.set(KvEventKeys.ENDPOINT, "tcp://*:5557");
    }
    if (key.equals(EngineTlsKeys.KEY_FILE)) {
      values.set(EngineTlsKeys.CERTIFICATE_FILE, "router.pem");
    }
    for (ServerTlsKeys each : LISTENERS) {
      // These are valid only with a certificate.
      if (Set.of(each.keyFile(), each.keyPassword(), each.clientCaFile()).contains(key)) {
        values.set(each.certificateFile(), "router.pem");
      }
    }
    if (key.equals(QueueKeys.WAKE_SLEEPING)) {
      values.set(QueueKeys.DEFER_WITHOUT_WORKER, Duration.ofSeconds(7));
    }
    if (key.equals(ForwardKeys.RESOLVE)) {
      values.set(RoutingKeys.WORKERS, List.of(WorkerSpec.of("http://name:8000")));
    }
    if (key.equals(AccessKeys.HOST) || key.equals(DecideKeys.SPOE_ADDRESS)) {
      values.set(AccessKeys.INSECURE, true);
    }
    String protocol = PROTOCOLS.get(key);
    return protocol == null ? values : values.set(DisaggKeys.PROTOCOL, protocol);
  }

  /** The configuration without the key; null if it is invalid. */
  private static @Nullable PointsmanConfig without(Key<?> key) {
    try {
      return PointsmanConfig.from(base(key));
    } catch (ConfigException e) {
      return null;
    }
  }

  private static ConfigValues changed(Key<?> key) {
    for (String candidate : CANDIDATES) {
      ConfigValues values = base(key);
      try {
        values.read(key, new RawValue.Scalar(candidate, "test"));
        PointsmanConfig.from(values);
      } catch (ConfigException _) {
        continue;
      }
      if (!values.get(key).equals(key.defaultValue())) {
        return values;
      }
    }
    throw new AssertionError("no candidate value for " + key);
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        FrontKeys.class,
        ListenerKeys.class,
        RoutingKeys.class,
        KvAwareKeys.class,
        TierKeys.class,
        DisaggKeys.class,
        ForwardKeys.class,
        EngineTlsKeys.class,
        FleetKeys.class,
        DiscoveryKeys.class,
        KubernetesKeys.class,
        PeerKeys.class,
        KvEventKeys.class,
        KvTokenKeys.class,
        AccessKeys.class,
        AdminKeys.class,
        BatchKeys.class,
        ClientLimitKeys.class,
        DecideKeys.class,
        OperationKeys.class,
        TracingKeys.class
      })
  void everyDefinedKeyIsRegistered(Class<?> keys) throws Exception {
    List<Key<?>> defined = new ArrayList<>();
    for (Field field : keys.getFields()) {
      if (field.get(null) instanceof Key<?> key) {
        defined.add(key);
      }
    }
    assertThat(defined).isNotEmpty();
    assertThat(ConfigKeys.all()).containsAll(defined);
  }

  @Test
  void pathsAndFlagsAreUnique() {
    Set<String> paths = new HashSet<>();
    Set<String> flags = new HashSet<>();
    for (Key<?> key : ConfigKeys.all()) {
      assertThat(paths.add(key.path())).as(key.path()).isTrue();
      assertThat(flags.add(key.flag())).as(key.flag()).isTrue();
      assertThat(ConfigKeys.isGroup(key.path())).as(key.path()).isFalse();
      assertThat(key.path()).matches("[a-z][a-z0-9-]*(\\.[a-z][a-z-]*)?");
      assertThat(key.flag()).matches("--[a-z][a-z0-9-]*");
    }
  }

  @Test
  void everyKeyIsDescribedInSentences() {
    for (Key<?> key : ConfigKeys.all()) {
      assertThat(key.meaning()).as(key.path()).endsWith(".");
      assertThat(key.extremes()).as(key.path()).endsWith(".");
    }
  }

  @Test
  void aPrintedConfigurationReadsBackUnchanged() {
    for (Key<?> key : ConfigKeys.all()) {
      if (key.isSecret()) {
        continue;
      }
      ConfigValues values = changed(key);
      ConfigValues again = YamlConfig.parse("printed", ConfigText.of(values));
      assertThat(again.get(key)).as(key.path()).isEqualTo(values.get(key));
      assertThat(ConfigText.of(again)).isEqualTo(ConfigText.of(values));
    }
  }

  @Test
  void probesUseTheRequestKeyUnlessTheyHaveTheirOwn() {
    ConfigValues values = new ConfigValues().set(ForwardKeys.API_KEY, "k");
    assertThat(PointsmanConfig.from(values).controlKeys()).isEqualTo(EngineKeys.of("k"));
    values.set(FleetKeys.HEALTH_API_KEY, "own");
    assertThat(PointsmanConfig.from(values).controlKeys()).isEqualTo(EngineKeys.of("own"));
    assertThat(PointsmanConfig.from(values).proxy().upstream().keys())
        .isEqualTo(EngineKeys.of("k"));
  }

  @Test
  void aSecretIsNeverPrinted() {
    ConfigValues values = new ConfigValues().set(ForwardKeys.API_KEY, "sk-very-secret");
    assertThat(ConfigText.of(values)).doesNotContain("sk-very").contains("api-key: \"***\"");
  }

  @Test
  void valuesThatContradictEachOtherAreRefused() {
    ConfigValues values =
        new ConfigValues().set(FleetKeys.STALL_MAX_PATIENCE, Duration.ofMillis(5));
    assertThatThrownBy(() -> PointsmanConfig.from(values))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith("stall: max-patience: ");
  }

  @Test
  void unusedEndpointsAreRefused() {
    assertThatThrownBy(
            () -> PointsmanConfig.from(new ConfigValues().set(KvEventKeys.ENDPOINT, "tcp://*:1")))
        .hasMessageStartingWith("kv-events: endpoint: set while the mode is not static");
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(
                    new ConfigValues()
                        .set(KvEventKeys.MODE, KvEventSettings.Mode.STATIC)
                        .set(KvEventKeys.REPLAY_ENDPOINT, "tcp://*:1")))
        .hasMessageStartingWith("kv-events: replay-endpoint: set without an endpoint");
  }

  @Test
  void invalidEndpointLabelsAreRefused() {
    WorkerSpec worker = WorkerSpec.of("http://a:1").withLabels(Map.of("kv-events", "ipc://x"));
    ConfigValues values = new ConfigValues().set(RoutingKeys.WORKERS, List.of(worker));
    assertThatThrownBy(() -> PointsmanConfig.from(values))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith("workers: a:1: ipc://x");
  }

  @Test
  void addressesThatTheProtocolDoesNotUseAreRefused() {
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(new ConfigValues().set(PeerKeys.REGISTRATION_ADDRESS, "a:1")))
        .hasMessageStartingWith("disaggregation: registration-address: set while the protocol");
    assertThatThrownBy(
            () -> PointsmanConfig.from(new ConfigValues().set(DisaggKeys.PROTOCOL, "moriio")))
        .hasMessageStartingWith("disaggregation: registration-address: missing");
    assertThatThrownBy(
            () -> PointsmanConfig.from(new ConfigValues().set(DisaggKeys.PROTOCOL, "lmcache")))
        .hasMessageStartingWith("disaggregation: notification-address: missing");
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(
                    new ConfigValues()
                        .set(DisaggKeys.PROTOCOL, "nixl")
                        .set(PeerKeys.NOTIFICATION_ADDRESS, "a:1")))
        .hasMessageStartingWith("disaggregation: notification-address: a:1 with the protocol nixl");
  }

  @Test
  void filesOfTlsAreRefusedWithoutACertificate() {
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(new ConfigValues().set(ListenerKeys.CLIENT_CA_FILE, "ca.pem")))
        .hasMessageStartingWith("tls: client-ca-file: ca.pem while there is no certificate")
        .hasMessageEndingWith("(expected: certificate-file)");
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(
                    new ConfigValues()
                        .set(ListenerKeys.HTTP2_ENABLED, false)
                        .set(ListenerKeys.HTTP2_UPGRADE, true)))
        .hasMessageStartingWith("http2: upgrade: true while HTTP/2 is off");
  }

  @Test
  void podsOfRolesAreRefusedWithoutAProtocol() {
    assertThatThrownBy(
            () ->
                PointsmanConfig.from(
                    new ConfigValues()
                        .set(KubernetesKeys.DECODE_SELECTOR, PodSelector.of(Map.of("a", "b")))))
        .hasMessageStartingWith("kubernetes: prefill-selector, decode-selector: set while");
  }

  @Test
  void contradictionsAreReportedWithConfigurationNames() {
    ConfigValues values =
        new ConfigValues()
            .set(ForwardKeys.RETRY_INITIAL_BACKOFF, Duration.ofMillis(100))
            .set(ForwardKeys.RETRY_MAX_BACKOFF, Duration.ofMillis(50));
    assertThatThrownBy(() -> PointsmanConfig.from(values))
        .isInstanceOf(ConfigException.class)
        .hasMessage("retry: max-backoff: 50ms (expected: >= initial-backoff, 100ms)");
  }

  @Test
  void thePageOfTheConfigurationMatchesTheRegistry() throws Exception {
    new GeneratedPage("reference/configuration.md").assertIs(ConfigPage.text());
  }

  /**
   * The records of the configuration take over a change of the key, or the page lists a reason.
   * Other tests change keys of a running router.
   */
  @Test
  void everyKeyChangesWhileTheRouterRunsOrHasAReason() {
    List<String> wrong = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      PointsmanConfig before = without(key);
      PointsmanConfig after = PointsmanConfig.from(changed(key));
      // A key without which the configuration is invalid has another address before.
      boolean live = (before == null ? otherAddress(key) : before).canBecome(after);
      if (live == (RestartReasons.of(key) != null)) {
        wrong.add(key.path() + (live ? ": can change" : ": has no reason"));
      }
    }
    assertThat(wrong).isEmpty();
  }

  private static PointsmanConfig otherAddress(Key<?> key) {
    ConfigValues values = changed(key);
    values.read(key, new RawValue.Scalar("h:2", "test"));
    return PointsmanConfig.from(values);
  }

  @Test
  void theKeysThatNeedARestartAreOnThePageForOperators() throws Exception {
    assertThat(new GeneratedPage("operate.md").text()).contains(RestartReasons.table());
  }
}
