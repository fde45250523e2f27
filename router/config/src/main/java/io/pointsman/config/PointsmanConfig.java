package io.pointsman.config;

import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.BatchKeys;
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
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.key.ServerTlsKeys;
import io.pointsman.config.key.TierKeys;
import io.pointsman.config.key.TracingKeys;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.AuthSettings;
import io.pointsman.config.settings.BatchSettings;
import io.pointsman.config.settings.CaptureSettings;
import io.pointsman.config.settings.DecideSettings;
import io.pointsman.config.settings.DecisionSettings;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.KvEventLimits;
import io.pointsman.config.settings.KvEventSettings;
import io.pointsman.config.settings.LogSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.config.settings.PeerSettings;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.config.settings.TokenSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.config.value.ModelPolicy;
import io.pointsman.config.value.Raw;
import io.pointsman.config.value.Resolve;
import io.pointsman.config.value.ValueType;
import io.pointsman.config.value.ValueTypes;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.StallSettings;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.hash.RingSettings;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.LocalitySettings;
import io.pointsman.engine.policy.tier.TierSettings;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.tls.ServerTlsSettings.ClientCertificates;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import io.pointsman.request.AffinitySettings;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Pattern;

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
  private static final Pattern ISO_DURATION = Pattern.compile("\\bPT[-\\dHMS.]*[HMS]");
  private static final Pattern INNER_CAPITAL = Pattern.compile("(?<=[a-z])[A-Z](?=[a-z])");
  private static final ValueType<Duration> ANY_DURATION =
      ValueTypes.duration(Duration.ZERO, Duration.ofDays(36_500));

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
   * restart: sockets, threads, sources of workers, and parts that only the start builds. With
   * prefill and decode on two workers, the policies stay too.
   */
  public PointsmanConfig withLive(PointsmanConfig next) {
    PointsmanConfigBuilder live =
        with()
            .workers(next.workers)
            .modelAliases(next.modelAliases)
            .engine(new EngineSettings(engine.unknownModel(), next.engine.expectedModels()))
            .fleet(fleet.withLive(next.fleet))
            .proxy(proxy.withLive(next.proxy))
            .probes(next.probes)
            .log(log.withLevel(next.log.level()))
            .access(access.withOrAnyPort(next.access.orAnyPort()));
    if (!disagg.enabled()) {
      live.policy(next.policy).policies(next.policies).models(next.models).affinity(next.affinity);
    }
    return live.build();
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
    DisaggSettings disagg = DisaggRecords.from(values);
    ProxySettings proxy = ProxyRecords.from(values);
    return new PointsmanConfig(
        workers(values, disagg),
        discovery(values, disagg),
        group("kubernetes", () -> kubernetes(values, disagg)),
        values.get(RoutingKeys.POLICY),
        values.get(RoutingKeys.SHADOW_POLICY),
        values.get(RoutingKeys.PLUGIN_DIRECTORY),
        group("cache, balance, hash or sticky", () -> policies(values)),
        models(values),
        values.get(RoutingKeys.MODEL_ALIASES),
        tiers(values),
        disagg,
        group("disaggregation", () -> peers(values, disagg)),
        group("kv-events", () -> kvEvents(values)),
        group("kv-tokens", () -> kvTokens(values)),
        new EngineSettings(values.get(RoutingKeys.UNKNOWN_MODEL), expectedModels(values)),
        fleet(values),
        new AffinitySettings(
            values.get(FrontKeys.SESSION_HEADER),
            values.get(FrontKeys.OWNER_HEADERS),
            values.get(FrontKeys.AFFINITY_REQUEST_HEADERS),
            values.get(FrontKeys.SESSION_FIELD)),
        proxy,
        group("health", () -> controlKeys(values, proxy.upstream().keys())),
        group("engine-tls", () -> engineTls(values)),
        probes(values),
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
        group("admin", () -> admin(values)),
        AccessRecords.from(values),
        AuthRecords.from(values),
        group("decide", () -> decide(values)),
        new DecisionSettings(
            values.get(AdminKeys.DECISIONS_SAMPLE), values.get(AdminKeys.DECISIONS_KEEP)),
        new CaptureSettings(
            values.get(OperationKeys.CAPTURE_FILE),
            values.get(OperationKeys.CAPTURE_MAX_BYTES),
            values.get(OperationKeys.CAPTURE_FILES)),
        group("tracing", () -> tracing(values)),
        group("batch", () -> batch(values)),
        values.get(OperationKeys.SYSTEM_SCHEDULING),
        values.get(AdminKeys.STACK_ENDPOINTS),
        wakeSleeping(values),
        values.get(FleetKeys.ENGINE_LOAD));
  }

  private static boolean wakeSleeping(ConfigValues values) {
    boolean wakes = values.get(FrontKeys.WAKE_SLEEPING);
    if (wakes && !values.get(FrontKeys.DEFER_WITHOUT_WORKER).isPositive()) {
      throw new ConfigException(
          "queue.wake-sleeping: true while queue.defer-without-worker is 0 (expected: a time in"
              + " which an engine wakes)");
    }
    return wakes;
  }

  /** The workers, without exact repetitions. */
  private static List<WorkerSpec> workers(ConfigValues values, DisaggSettings disagg) {
    List<WorkerSpec> workers =
        WorkerFile.checked("workers", values.get(RoutingKeys.WORKERS), disagg);
    return workers.stream().map(each -> resolved(each, values)).toList();
  }

  private static DiscoverySettings discovery(ConfigValues values, DisaggSettings disagg) {
    List<DnsName> names = values.get(DiscoveryKeys.DNS);
    Set<String> shown = new HashSet<>();
    for (DnsName each : names) {
      if (!shown.add(each.shown())) {
        throw new ConfigException(
            "discovery: dns: " + each.shown() + " (expected: each name and port once)");
      }
      List<WorkerSpec> _ = WorkerFile.checked("discovery: dns", List.of(each.worker()), disagg);
    }
    return new DiscoverySettings(values.get(DiscoveryKeys.FILE), names);
  }

  /**
   * The worker with the label for its name exactly if the name stands for several workers. A worker
   * with a key of its own is one, because keys are found by URLs.
   */
  private static WorkerSpec resolved(WorkerSpec worker, ConfigValues values) {
    Map<String, String> labels = new HashMap<>(worker.labels());
    String own = labels.remove(Resolve.LABEL);
    boolean plain = worker.url().startsWith("http://");
    boolean name = !HostPort.ofUrl(worker.url()).bareHost().matches("[0-9.]+|.*:.*");
    boolean wanted =
        own == null ? values.get(ForwardKeys.RESOLVE) == Resolve.ALL : own.equals("all");
    boolean ownKey = values.get(ForwardKeys.WORKER_KEYS).containsKey(worker.url());
    if (own != null && wanted && !plain) {
      throw new ConfigException(
          "workers: "
              + worker.id()
              + ": resolve: all (expected: one, because the certificates of"
              + " https:// name the host)");
    }
    if (own != null && wanted && ownKey) {
      throw new ConfigException(
          "workers: "
              + worker.id()
              + ": resolve: all (expected: one, because worker-api-keys has a key of its URL)");
    }
    if (wanted && plain && name && !ownKey) {
      labels.put(Resolve.LABEL, "all");
    }
    return worker.labels().equals(labels) ? worker : worker.withLabels(labels);
  }

  private static AdminSettings admin(ConfigValues values) {
    return new AdminSettings(
        values.get(AdminKeys.ENABLED),
        values.get(AdminKeys.ADD_TIMEOUT),
        values.get(AdminKeys.DATA_PARALLEL_SIZE),
        values.get(FleetKeys.MODELS_MERGED),
        values.get(FleetKeys.HEALTH_ANSWER),
        values.get(AdminKeys.REFUSED_PATHS),
        values.get(AdminKeys.RAY_APPLICATION),
        values.get(AdminKeys.CONTROL_TIMEOUT));
  }

  private static Set<String> expectedModels(ConfigValues values) {
    Set<String> expected = new HashSet<>(values.get(RoutingKeys.EXPECTED_MODELS));
    values.get(RoutingKeys.MODEL_POLICIES).forEach(each -> expected.add(each.model()));
    values.get(FrontKeys.MODEL_QUEUES).forEach(each -> expected.add(each.model()));
    values.get(RoutingKeys.WORKERS).forEach(each -> expected.addAll(each.models()));
    return expected;
  }

  private static DecideSettings decide(ConfigValues values) {
    return new DecideSettings(
        values.get(DecideKeys.ENABLED),
        new ExternalLeaseSettings(
            values.get(DecideKeys.MAX_LEASES),
            values.get(DecideKeys.TTL),
            values.get(DecideKeys.MAX_TTL),
            values.get(DecideKeys.MAX_LIFETIME),
            values.get(DecideKeys.MAX_SHARE),
            values.get(DecideKeys.FAILURE_SHARE)),
        values.get(DecideKeys.SPOE_ADDRESS));
  }

  private static PeerSettings peers(ConfigValues values, DisaggSettings disagg) {
    return new PeerSettings(
            values.get(PeerKeys.REGISTRATION_ADDRESS), values.get(PeerKeys.NOTIFICATION_ADDRESS))
        .with(disagg.protocol());
  }

  private static KvEventSettings kvEvents(ConfigValues values) {
    return new KvEventSettings(
        values.get(KvEventKeys.MODE),
        values.get(KvEventKeys.ENDPOINT),
        values.get(KvEventKeys.REPLAY_ENDPOINT),
        values.get(KvEventKeys.TOPIC),
        values.get(KvEventKeys.RANKS),
        values.get(KvEventKeys.REFRESH),
        new KvEventLimits(
            Math.toIntExact(values.get(KvEventKeys.MAX_MESSAGE)),
            values.get(KvEventKeys.MAX_EVENTS),
            values.get(KvEventKeys.REPLAY_TIMEOUT)));
  }

  private static BatchSettings batch(ConfigValues values) {
    boolean everybody =
        !values.get(ListenerKeys.CLIENT_CA_FILE).isEmpty()
            && values.get(ListenerKeys.CLIENT_CERTIFICATES) == ClientCertificates.REQUIRED;
    if (values.get(BatchKeys.ENABLED) && everybody) {
      throw new IllegalArgumentException(
          "enabled: true while tls.client-certificates is required (expected: optional, because the"
              + " requests of batches have no certificate)");
    }
    return new BatchSettings(
        values.get(BatchKeys.ENABLED),
        values.get(BatchKeys.DIRECTORY),
        values.get(BatchKeys.MAX_FILE),
        values.get(BatchKeys.MAX_TOTAL),
        values.get(BatchKeys.MAX_SHARE),
        values.get(BatchKeys.MAX_REQUESTS),
        values.get(BatchKeys.PARALLELISM),
        values.get(BatchKeys.ATTEMPTS),
        values.get(BatchKeys.REQUEST_TIMEOUT),
        values.get(BatchKeys.API_KEY));
  }

  private static TokenSettings kvTokens(ConfigValues values) {
    return new TokenSettings(
        values.get(KvTokenKeys.ENABLED),
        values.get(KvTokenKeys.SHARE),
        values.get(KvTokenKeys.PARALLELISM),
        values.get(KvTokenKeys.QUEUE),
        values.get(KvTokenKeys.TIMEOUT),
        values.get(KvTokenKeys.MAX_BYTES));
  }

  private static KubernetesSettings kubernetes(ConfigValues values, DisaggSettings disagg) {
    KubernetesSettings settings = kubernetes(values);
    boolean parts = settings.finds(Role.PREFILL) || settings.finds(Role.DECODE);
    if (parts && !disagg.enabled()) {
      throw new IllegalArgumentException(
          "prefillSelector, decodeSelector: set while disaggregation.protocol is off (expected: a"
              + " protocol)");
    }
    return settings;
  }

  private static KubernetesSettings kubernetes(ConfigValues values) {
    return new KubernetesSettings(
        values.get(KubernetesKeys.SELECTOR),
        values.get(KubernetesKeys.PREFILL_SELECTOR),
        values.get(KubernetesKeys.DECODE_SELECTOR),
        values.get(KubernetesKeys.NAMESPACE),
        values.get(KubernetesKeys.PORT),
        values.get(KubernetesKeys.DATA_PARALLEL_SIZE),
        values.get(KubernetesKeys.URL),
        values.get(KubernetesKeys.FIND),
        values.get(KubernetesKeys.PORTS),
        values.get(KubernetesKeys.MODEL_LABEL),
        values.get(KubernetesKeys.ALIASES_LABEL),
        values.get(KubernetesKeys.EXPECT_MODELS));
  }

  private static PolicySettings policies(ConfigValues values) {
    return new PolicySettings(
        values.get(RoutingKeys.VIRTUAL_NODES),
        values.get(RoutingKeys.HASH_LOAD_FACTOR),
        new RingSettings(
            values.get(RoutingKeys.RAY_VIRTUAL_NODES),
            values.get(RoutingKeys.RAY_FALLBACK_WORKERS)),
        new CacheAwareSettings(
            values.get(RoutingKeys.CACHE_THRESHOLD),
            values.get(RoutingKeys.BALANCE_ABS),
            values.get(RoutingKeys.BALANCE_REL),
            values.get(RoutingKeys.INDEX_MAX_BYTES),
            values.get(RoutingKeys.MIN_MATCH_LENGTH)),
        new CostSettings(
            values.get(RoutingKeys.COST_KV_TOKENS),
            values.get(RoutingKeys.COST_STEP_TOKENS),
            values.get(RoutingKeys.COST_PRICE_FLOOR),
            values.get(RoutingKeys.COST_TIE_MILLIS),
            values.get(RoutingKeys.COST_MAX_BYTES)),
        new KvAwareSettings(
            values.get(KvAwareKeys.TEMPERATURE),
            new KvCredits(
                values.get(KvAwareKeys.HOST_CREDIT),
                values.get(KvAwareKeys.EXTERNAL_CREDIT),
                values.get(KvAwareKeys.DISK_CREDIT)),
            values.get(KvAwareKeys.INDEX_MAX_BYTES),
            values.get(KvAwareKeys.LOAD_WEIGHT)),
        values.get(RoutingKeys.SESSION_AFFINITY),
        values.get(RoutingKeys.STICKY_IDLE),
        values.get(RoutingKeys.STICKY_MAX),
        new PrioritySettings(
            values.get(RoutingKeys.PRIORITY_HEADER),
            values.get(RoutingKeys.PRIORITY_FIELD),
            values.get(RoutingKeys.PRIORITY_DEFAULT),
            values.get(RoutingKeys.PRIORITY_THRESHOLD)));
  }

  private static List<ModelRouting> models(ConfigValues values) {
    List<ModelRouting> models = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ModelPolicy each : values.get(RoutingKeys.MODEL_POLICIES)) {
      if (!names.add(each.model())) {
        throw new ConfigException(
            "model-policies: " + each.model() + " (expected: each model once)");
      }
      ConfigValues own = new ConfigValues().setAll(values);
      for (Key<?> key : RoutingKeys.ofAModel()) {
        String written = each.settings().get(key.path());
        if (written != null) {
          own.read(key, new Raw.Scalar(written, "model-policies"));
        }
      }
      models.add(
          new ModelRouting(
              each.model(),
              own.get(RoutingKeys.POLICY),
              group("model-policies: " + each.model(), () -> policies(own))));
    }
    return models;
  }

  private static TierSettings tiers(ConfigValues values) {
    return new TierSettings(
        new LocalitySettings(
            values.get(TierKeys.NODE),
            values.get(TierKeys.ZONE),
            values.get(TierKeys.LOCALITY_GAP)),
        new AdapterSettings(
            values.get(TierKeys.ADAPTER_GAP),
            values.get(TierKeys.ADAPTERS_PER_WORKER),
            values.get(TierKeys.MAX_ADAPTERS)));
  }

  private static FleetSettings fleet(ConfigValues values) {
    return new FleetSettings(
        values.get(FleetKeys.MAX_WORKERS),
        new HealthSettings(
            values.get(FleetKeys.HEALTH_FAILURES), values.get(FleetKeys.HEALTH_SUCCESSES)),
        new BreakerSettings(
            values.get(FleetKeys.BREAKER_ENABLED),
            values.get(FleetKeys.BREAKER_FAILURES),
            values.get(FleetKeys.BREAKER_SUCCESSES),
            values.get(FleetKeys.BREAKER_OPEN_FOR),
            values.get(FleetKeys.BREAKER_WINDOW),
            values.get(FleetKeys.BREAKER_MAX_EJECTED)),
        group(
            "stall",
            () ->
                new StallSettings(
                    values.get(FleetKeys.STALL_ENABLED),
                    values.get(FleetKeys.STALL_PATIENCE),
                    values.get(FleetKeys.STALL_PER_THOUSAND),
                    values.get(FleetKeys.STALL_MAX_PATIENCE))),
        values.get(DisaggKeys.MAX_PREFILLS),
        values.get(FleetKeys.SLOW_START));
  }

  private static TracingSettings tracing(ConfigValues values) {
    return new TracingSettings(
        values.get(TracingKeys.ENABLED),
        values.get(TracingKeys.ENDPOINT),
        values.get(TracingKeys.PROTOCOL),
        values.get(TracingKeys.SAMPLING_RATIO),
        values.get(TracingKeys.EXCLUDED_PATHS),
        values.get(TracingKeys.SERVICE_NAME));
  }

  private static EngineKeys controlKeys(ConfigValues values, EngineKeys ofRequests) {
    String own = values.get(FleetKeys.HEALTH_API_KEY);
    return own.isEmpty()
        ? ofRequests
        : new EngineKeys(own, null, null, ofRequests.replace(), ofRequests.byUrl());
  }

  private static EngineTlsSettings engineTls(ConfigValues values) {
    EngineTlsSettings ofAll =
        new EngineTlsSettings(
            values.get(EngineTlsKeys.CA_FILE),
            values.get(EngineTlsKeys.CERTIFICATE_FILE),
            values.get(EngineTlsKeys.KEY_FILE),
            values.get(EngineTlsKeys.SERVER_NAME),
            values.get(EngineTlsKeys.INSECURE_SKIP_VERIFY));
    for (WorkerSpec worker : values.get(RoutingKeys.WORKERS)) {
      try {
        EngineTlsSettings _ = ofAll.with(worker.labels());
      } catch (IllegalArgumentException e) {
        throw new ConfigException("workers: " + worker.id() + ": " + e.getMessage());
      }
    }
    return ofAll;
  }

  private static ProbeSettings probes(ConfigValues values) {
    return group(
        "health",
        () ->
            new ProbeSettings(
                values.get(FleetKeys.HEALTH_ENDPOINT),
                values.get(FleetKeys.HEALTH_ACCEPTED_STATUSES),
                values.get(FleetKeys.HEALTH_INTERVAL),
                values.get(FleetKeys.HEALTH_TIMEOUT),
                values.get(FleetKeys.HEALTH_FIRST_RETRY),
                values.get(FleetKeys.HEALTH_MOST_RETRY),
                values.get(FleetKeys.HEALTH_PARALLELISM),
                values.get(FleetKeys.MODELS_INTERVAL)));
  }

  /**
   * Builds a record, and adds the group's name to the problem if its values contradict each other.
   */
  static <T> T group(String name, Supplier<T> record) {
    try {
      return record.get();
    } catch (IllegalArgumentException e) {
      throw new ConfigException(name + ": " + asWritten(String.valueOf(e.getMessage())));
    }
  }

  /** A record's message, with names and times as in the configuration file. */
  private static String asWritten(String message) {
    String times =
        ISO_DURATION
            .matcher(message)
            .replaceAll(found -> ANY_DURATION.format(Duration.parse(found.group())));
    return INNER_CAPITAL
        .matcher(times)
        .replaceAll(found -> "-" + found.group().toLowerCase(Locale.ROOT));
  }
}
