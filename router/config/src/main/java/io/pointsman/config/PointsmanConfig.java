package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.ServerTlsKeys;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.AuthSettings;
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
import io.pointsman.config.settings.PeerSettings;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.config.settings.TokenSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.tier.TierSettings;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import io.pointsman.request.AffinitySettings;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The whole configuration, as the records that its consumers define. Every launcher translates its
 * flags into {@link ConfigValues}; this record is built from them.
 *
 * @param workers engines configured at the start
 * @param discovery further workers from a file and from DNS
 * @param kubernetes discovery of pods as further workers
 * @param policy name or class of the policy
 * @param shadowPolicy name or class of the policy that decides without effect; {@code none}: no
 *     such policy
 * @param pluginDirectory directory of jars with policy classes; empty: no plug-ins
 * @param policies parameters of all policies
 * @param models policies of single models
 * @param modelAliases models by their further names
 * @param tiers preferences for near workers and for workers with a loaded adapter
 * @param disagg prefill and decode on separate workers
 * @param peers addresses where engines register and notify
 * @param kvEvents subscriptions to KV events
 * @param kvTokens queries to engines for the token ids of texts
 * @param controlKeys bearer tokens for the router's own requests to engines, for example probes
 * @param engineTls TLS to engines
 * @param batch files and batches of requests
 * @param access the admin listener, and the paths that clients can use
 * @param systemScheduling true to change the system's scheduling
 * @param stackEndpoints true for the endpoints of production-stack's router
 * @param engineLoad interval at which engines are asked for their load; 0: never
 * @param wakeSleeping true to wake a sleeping engine that a request waits for
 */
@RecordBuilder
public record PointsmanConfig(
    List<WorkerSpec> workers,
    DiscoverySettings discovery,
    KubernetesSettings kubernetes,
    String policy,
    String shadowPolicy,
    String pluginDirectory,
    PolicySettings policies,
    List<ModelRouting> models,
    Map<String, String> modelAliases,
    TierSettings tiers,
    DisaggSettings disagg,
    PeerSettings peers,
    KvEventSettings kvEvents,
    TokenSettings kvTokens,
    EngineSettings engine,
    FleetSettings fleet,
    AffinitySettings affinity,
    ProxySettings proxy,
    EngineKeys controlKeys,
    EngineTlsSettings engineTls,
    ProbeSettings probes,
    MetricsSettings metrics,
    LogSettings log,
    AdminSettings admin,
    AccessSettings access,
    AuthSettings auth,
    DecideSettings decide,
    DecisionSettings decisions,
    CaptureSettings capture,
    TracingSettings tracing,
    BatchSettings batch,
    boolean systemScheduling,
    boolean stackEndpoints,
    boolean wakeSleeping,
    Duration engineLoad)
    implements PointsmanConfigBuilder.With {
  /**
   * The policy of one model.
   *
   * @param policy name or class
   */
  public record ModelRouting(String model, String policy, PolicySettings policies) {}

  public PointsmanConfig {
    workers = List.copyOf(workers);
    models = List.copyOf(models);
    modelAliases = Map.copyOf(modelAliases);
  }

  /**
   * Copy with the parts of {@code next} that a running router can take over. The rest needs a
   * restart: threads, stores, and parts that only the start builds.
   */
  public PointsmanConfig withLive(PointsmanConfig next) {
    PointsmanConfigBuilder live =
        with()
            .workers(next.workers)
            .modelAliases(next.modelAliases)
            .discovery(next.discovery)
            .kubernetes(next.kubernetes)
            .policy(next.policy)
            .pluginDirectory(next.pluginDirectory)
            .policies(next.policies)
            .kvEvents(next.kvEvents)
            .kvTokens(next.kvTokens)
            .models(next.models)
            .tiers(next.tiers)
            .disagg(next.disagg)
            .peers(next.peers)
            .affinity(next.affinity)
            .engine(next.engine)
            .fleet(fleet.withLive(next.fleet))
            .proxy(liveProxy(next))
            .probes(next.probes)
            .controlKeys(next.controlKeys)
            .engineTls(next.engineTls)
            .admin(next.admin)
            .stackEndpoints(next.stackEndpoints)
            .decisions(next.decisions)
            .decide(next.decide)
            .tracing(next.tracing)
            .wakeSleeping(next.wakeSleeping)
            .engineLoad(next.engineLoad)
            .systemScheduling(next.systemScheduling)
            .log(next.log)
            .metrics(next.metrics)
            .shadowPolicy(next.shadowPolicy)
            .capture(next.capture)
            .access(next.access)
            .batch(next.batch);
    if (!keepsStore(next) || auth.provesAs(next.auth)) {
      live.auth(next.auth);
    }
    return live.build();
  }

  /** True if the files keep their owners, which the keys and certificates of clients name. */
  private boolean keepsStore(PointsmanConfig next) {
    return batch.sharesStore(next.batch);
  }

  /** With batches the certificates of clients stay in use or not, because files have owners. */
  private ProxySettings liveProxy(PointsmanConfig next) {
    ProxySettings live = proxy.withLive(next.proxy);
    ListenSettings listen = live.listen();
    ServerTlsSettings tls = proxy.listen().tls();
    boolean sameOwners = tls.clientCaFile().isEmpty() == listen.tls().clientCaFile().isEmpty();
    return keepsStore(next) && !sameOwners ? live.withListen(listen.withTls(tls)) : live;
  }

  /** True if a running router can change from this configuration to {@code next}. */
  public boolean canBecome(PointsmanConfig next) {
    return withLive(next).equals(next);
  }

  /**
   * Builds the configuration from values.
   *
   * @throws ConfigException if values contradict each other
   */
  public static PointsmanConfig from(ConfigValues values) {
    PointsmanConfig made = read(values);
    ListenerPorts.check(made.proxy.listen(), made.access, made.metrics);
    return made;
  }

  private static PointsmanConfig read(ConfigValues values) {
    DisaggSettings disagg = DisaggRecords.from(values);
    ProxySettings proxy = ProxyRecords.from(values);
    return new PointsmanConfig(
        DiscoveryRecords.workers(values, disagg),
        DiscoveryRecords.discovery(values, disagg),
        group("kubernetes", () -> DiscoveryRecords.kubernetes(values, disagg)),
        values.get(RoutingKeys.POLICY),
        values.get(RoutingKeys.SHADOW_POLICY),
        values.get(RoutingKeys.PLUGIN_DIRECTORY),
        group("cache, balance, hash or sticky", () -> PolicyRecords.policies(values)),
        PolicyRecords.models(values),
        values.get(RoutingKeys.MODEL_ALIASES),
        PolicyRecords.tiers(values),
        disagg,
        group("disaggregation", () -> DiscoveryRecords.peers(values, disagg)),
        group("kv-events", () -> KvRecords.kvEvents(values)),
        group("kv-tokens", () -> KvRecords.kvTokens(values)),
        new EngineSettings(
            values.get(RoutingKeys.UNKNOWN_MODEL), PolicyRecords.expectedModels(values)),
        FleetRecords.fleet(values),
        new AffinitySettings(
            values.get(HeaderKeys.SESSION_HEADER),
            values.get(HeaderKeys.OWNER_HEADERS),
            values.get(HeaderKeys.AFFINITY_REQUEST_HEADERS),
            values.get(HeaderKeys.SESSION_FIELD)),
        proxy,
        group("health", () -> FleetRecords.controlKeys(values, proxy.upstream().keys())),
        group("engine-tls", () -> FleetRecords.engineTls(values)),
        FleetRecords.probes(values),
        new MetricsSettings(
            values.get(OperationKeys.METRICS_ENABLED),
            values.get(OperationKeys.METRICS_HOST),
            values.get(OperationKeys.METRICS_PORT),
            values.get(OperationKeys.METRICS_VLLM_NAMES),
            values.get(OperationKeys.METRICS_LIKE_STACK),
            group("metrics-tls", () -> ProxyRecords.tls(values, ServerTlsKeys.METRICS))),
        new LogSettings(
            values.get(OperationKeys.LOG_LEVEL),
            values.get(OperationKeys.LOG_FORMAT),
            values.get(OperationKeys.LOG_DIRECTORY),
            values.get(OperationKeys.LOG_REQUESTS),
            values.get(OperationKeys.LOG_ACCESS),
            values.get(OperationKeys.LOG_ACCESS_SAMPLE),
            values.get(OperationKeys.LOG_AUDIT)),
        group("admin", () -> OperationRecords.admin(values)),
        AccessRecords.from(values),
        AuthRecords.from(values),
        group("decide", () -> OperationRecords.decide(values)),
        new DecisionSettings(
            values.get(AdminKeys.DECISIONS_SAMPLE), values.get(AdminKeys.DECISIONS_KEEP)),
        new CaptureSettings(
            values.get(OperationKeys.CAPTURE_FILE),
            values.get(OperationKeys.CAPTURE_MAX_BYTES),
            values.get(OperationKeys.CAPTURE_FILES)),
        group("tracing", () -> OperationRecords.tracing(values)),
        group("batch", () -> OperationRecords.batch(values)),
        values.get(OperationKeys.SYSTEM_SCHEDULING),
        values.get(AdminKeys.STACK_ENDPOINTS),
        OperationRecords.wakeSleeping(values),
        values.get(FleetKeys.ENGINE_LOAD));
  }
}
