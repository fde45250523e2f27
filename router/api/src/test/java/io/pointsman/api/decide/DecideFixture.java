package io.pointsman.api.decide;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.UnknownModel;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.tier.AdapterSettings;
import io.pointsman.engine.policy.tier.AdapterTable;
import io.pointsman.engine.policy.tier.LocalitySettings;
import io.pointsman.engine.policy.tier.Tiers;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.local.Caller;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestFacts;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The endpoints for external proxies over a configurable fleet, without sockets. */
final class DecideFixture implements EngineListener {
  static final String MODEL = "m";
  static final String CHAT =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\""
          + "word ".repeat(200)
          + "\"}]}";

  final FakeClock clock = new FakeClock();
  final Fleet fleet = new Fleet(FleetSettings.DEFAULTS.withoutEjectionLimit(), clock::nanos);
  final Choices choices;

  /** Signals for policies from proxies: nanoseconds to first tokens, and each usage. */
  final List<Object> signals = new ArrayList<>();

  /** Reported prompts: worker, authorization, body. */
  final List<String> prompts = new ArrayList<>();

  private final LocalRoutes routes;

  DecideFixture(String policy) {
    this(
        policy,
        new ExternalLeaseSettings(
            8, Duration.ofSeconds(30), Duration.ofMinutes(10), Duration.ofHours(1)));
  }

  DecideFixture(String policy, ExternalLeaseSettings settings) {
    this(policy, settings, UnknownModel.REJECT, 503);
  }

  /** A fixture with this status while all workers are busy. */
  static DecideFixture withBusyStatus(int status) {
    Duration ttl = Duration.ofSeconds(30);
    ExternalLeaseSettings settings = new ExternalLeaseSettings(64, ttl, ttl, ttl);
    return new DecideFixture("random", settings, UnknownModel.REJECT, status);
  }

  /** A fixture where base models take requests for their adapters. */
  static DecideFixture withAdapters(String policy) {
    Duration ttl = Duration.ofSeconds(30);
    return new DecideFixture(
        policy, new ExternalLeaseSettings(64, ttl, ttl, ttl), UnknownModel.BASE_MODEL, 503);
  }

  private DecideFixture(
      String policy, ExternalLeaseSettings settings, UnknownModel unknown, int busyStatus) {
    ScriptedRandomSource random = ScriptedRandomSource.seeded(3);
    PolicyParts parts =
        new PolicyParts(
            clock::nanos,
            random::roll,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS);
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            tiers(unknown, random)
                .around(Policies.create(policy, parts))
                .withAnswers(new Signals()),
            new EngineSettings(unknown),
            this,
            clock::nanos,
            random::roll);
    choices = new Choices(engine, settings, clock::nanos, random::roll);
    DecisionService planes =
        new DecisionService(
            engine,
            choices,
            () -> AffinitySettings.DEFAULT,
            () -> true,
            () -> new AdmissionSettings(1, 0, Duration.ofSeconds(1), 503, 0, busyStatus),
            () -> null,
            () -> ClientQuota.NONE,
            new Prompts(),
            clock::nanos,
            random::roll);
    LocalRoutes.Builder builder = LocalRoutes.builder();
    new DecideApi(planes, _ -> policy).addTo(builder);
    new LeasesApi(planes).addTo(builder);
    new RayRouteApi(planes).addTo(builder);
    routes = builder.build();
  }

  private final class Prompts implements PromptListener {
    @Override
    public boolean wants(RequestFacts facts) {
      return facts.prefix().count() > 0;
    }

    @Override
    public void sent(
        RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body) {
      prompts.add(worker + " " + authorization + " " + new String(body, StandardCharsets.UTF_8));
    }
  }

  private final class Signals implements AnswerLearner {
    @Override
    public void placed(RoutingRequest request, LeaseView lease) {}

    @Override
    public void answered(RoutingRequest request, LeaseView lease, long at) {
      signals.add(at - lease.placedAt());
    }

    @Override
    public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
      signals.add(lease.usage());
    }

    @Override
    public void forget(Worker worker) {}
  }

  private Tiers tiers(UnknownModel unknown, ScriptedRandomSource random) {
    AdapterTable adapters = null;
    if (unknown == UnknownModel.BASE_MODEL) {
      adapters = new AdapterTable(AdapterSettings.DEFAULTS);
      fleet.listen(adapters);
    }
    return new Tiers(LocalitySettings.OFF, AdapterSettings.DEFAULTS, adapters, random::roll);
  }

  Worker worker(String url, String... models) {
    Worker worker = fleet.add(WorkerSpec.of(url).withModels(Set.of(models)));
    worker.probed(true);
    return worker;
  }

  /** Adds healthy workers that serve {@link #MODEL}: {@code http://w0:1} and so on. */
  DecideFixture withWorkers(int count) {
    for (int i = 0; i < count; i++) {
      worker("http://w" + i + ":1", MODEL);
    }
    return this;
  }

  LocalResponse post(String path, String body, String... headers) throws Exception {
    return post(path, body.getBytes(StandardCharsets.UTF_8), headers);
  }

  LocalResponse post(String path, byte[] body, String... headers) throws Exception {
    return post(Caller.Kind.PLANE, path, body, headers);
  }

  /** The endpoint for POST at a path. */
  LocalEndpoint endpoint(String path) {
    return requireNonNull(requireNonNull(routes.at(path), path).forMethod("POST"), path);
  }

  /** Sends a request of another caller than a proxy with the plane's key. */
  LocalResponse post(Caller.Kind caller, String path, byte[] body, String... headers)
      throws Exception {
    Map<String, List<String>> named = new HashMap<>();
    for (int i = 0; i < headers.length; i += 2) {
      named.put(headers[i], List.of(headers[i + 1]));
    }
    return endpoint(path)
        .handle(new LocalRequest("POST", path, "", named, body, false, "req-1", caller, null));
  }

  /** The response to a question; fails unless its status is 200. */
  JsonNode decided(String question) throws Exception {
    LocalResponse response = post("/v1/decide", question);
    if (response.status() != 200) {
      throw new AssertionError(response.status() + ": " + text(response));
    }
    return json(response);
  }

  static String text(LocalResponse response) {
    return new String(response.body(), StandardCharsets.UTF_8);
  }

  static JsonNode json(LocalResponse response) throws Exception {
    return new ObjectMapper().readTree(response.body());
  }

  int inFlight() {
    return fleet.snapshot().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    throw failure;
  }
}
