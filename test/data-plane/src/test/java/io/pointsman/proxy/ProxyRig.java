package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.proxy.retry.PoisonSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.strategy.PlainHandlers;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.DeferralEnded;
import io.pointsman.proxy.telemetry.RequestEvent.LimitReached;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;
import io.pointsman.proxy.telemetry.RequestEvent.PromptPrefilled;
import io.pointsman.proxy.telemetry.RequestEvent.QueueWaitEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestEvent.RequestRetried;
import io.pointsman.proxy.telemetry.RequestEvent.RequestStarted;
import io.pointsman.proxy.telemetry.RequestEvent.RouterAnswered;
import io.pointsman.proxy.telemetry.RequestEvent.SessionEnded;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerChosen;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.RouterId;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.splice.Splice;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A proxy in front of scripted engines, which it tries in the order in which they were added. Its
 * close checks that every lease is settled, and that every request ended once and held one lease at
 * a time. {@link LeakCheck} checks that no buffer is lost.
 */
@SuppressWarnings("try") // closing may be interrupted, as tests may
public final class ProxyRig implements AutoCloseable {
  private static final int MANY_TURNS = 100;

  /** A thread of an engine may get no turn in one round. */
  private static final int ROUNDS = 5;

  /** A request with two lengths. */
  private static final String MALFORMED =
      "POST / HTTP/1.1\r\nhost: r\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n";

  static {
    BufferLeaks.watch();
  }

  private final Fleet fleet;
  private final ProxyServer server;
  private final List<Worker> all = new CopyOnWriteArrayList<>();
  private final List<AutoCloseable> toClose = new ArrayList<>();
  public final List<Outcome> outcomes = new CopyOnWriteArrayList<>();
  public final List<Ended> ended = new CopyOnWriteArrayList<>();

  /** For each request: client, method, target, status, reason, and tokens of the answer. */
  public final List<String> lines = new CopyOnWriteArrayList<>();

  /** Clients of the reported requests, as source and name. */
  public final List<String> identities = new CopyOnWriteArrayList<>();

  /** Clients that a limit of theirs refused, with the limit. */
  public final List<String> limited = new CopyOnWriteArrayList<>();

  /** Workers that answered that they do not serve a listed model, with the model. */
  public final List<String> missing = new CopyOnWriteArrayList<>();

  /** True if the token counts of every answer are read. */
  public volatile boolean readsUsage;

  public final List<RetryReason> retried = new CopyOnWriteArrayList<>();
  public final List<Boolean> waits = new CopyOnWriteArrayList<>();

  /** For each deferred request, true if it was decided. */
  public final List<Boolean> deferrals = new CopyOnWriteArrayList<>();

  /** Wait of each request on any worker in milliseconds, as the policy reports it. */
  public volatile double waitMillis = Double.NaN;

  /** Signals to learners, in order: first tokens and token counts. */
  public final List<Object> signals = new CopyOnWriteArrayList<>();

  private final Set<RoutingRequest> placed = ConcurrentHashMap.newKeySet();

  /**
   * Requests that were placed again before their lease was settled. Their learners would see the
   * later choice.
   */
  private final List<RoutingRequest> placedTwice = new CopyOnWriteArrayList<>();

  /** Prompts that the listener received; it asks for the prompts of one model. */
  public final List<Prompt> prompts = new CopyOnWriteArrayList<>();

  /** Runs in each decision; may throw. */
  public volatile Runnable inDecision = () -> {};

  /** Runs when a lease is settled; may throw. */
  public volatile Runnable inSettled = () -> {};

  /** Resolves host names. */
  public volatile NameTable.Lookup lookup = NameTable::ofSystem;

  /** Traces requests. */
  public volatile RequestTracer tracer = RequestTracer.NONE;

  /** Clients' choices of workers. */
  public volatile WorkerPins pins = WorkerPins.NONE;

  /** Changes clients' bodies. */
  public volatile RequestEdits edits = RequestEdits.NONE;

  /** Checks callers. */
  public volatile CallerCheck callers = CallerCheck.NONE;

  /** A prompt as the listener received it. */
  public record Prompt(@Nullable String worker, @Nullable String authorization, String body) {}

  /** The values of a request's report. */
  public record Ended(
      int status,
      String blame,
      int attempts,
      boolean left,
      long ttft,
      long chunks,
      long bytesOut) {}

  private final ProxySettings settings;
  private final EngineTls tls;

  public ProxyRig(Transport transport) throws IOException {
    this(transport, ProxySettings.DEFAULTS, LocalRoutes.NONE);
  }

  public ProxyRig(Transport transport, ProxySettings settings) throws IOException {
    this(transport, settings, LocalRoutes.NONE);
  }

  public ProxyRig(Transport transport, ProxySettings settings, LocalRoutes routes)
      throws IOException {
    this(transport, settings, routes, AdminPaths.NONE);
  }

  /** A rig with admin paths, and with an admin listener. */
  public ProxyRig(Transport transport, ProxySettings settings, LocalRoutes routes, AdminPaths admin)
      throws IOException {
    this(transport, settings, routes, admin, ServerTlsSettings.OFF);
  }

  /** A rig with admin paths, and with TLS on the admin listener. */
  public ProxyRig(
      Transport transport,
      ProxySettings settings,
      LocalRoutes routes,
      AdminPaths admin,
      ServerTlsSettings tls)
      throws IOException {
    this(transport, settings, routes, admin, System::nanoTime, _ -> PlainHandlers::new);
    server.listenForAdmin("127.0.0.1", 0, tls);
  }

  /** The port of clients. */
  public int port() {
    return server.port();
  }

  /** The port of the admin listener. */
  public int adminPort() {
    return server.adminPort();
  }

  /** A rig with a clock that the test advances. */
  public ProxyRig(Transport transport, ProxySettings settings, FakeClock clock) throws IOException {
    this(
        transport,
        settings,
        LocalRoutes.NONE,
        AdminPaths.NONE,
        clock::nanos,
        _ -> PlainHandlers::new);
  }

  /** A rig with handlers for requests to more than one worker. */
  public ProxyRig(
      ProxySettings settings,
      FakeClock clock,
      Function<RoutingEngine, RequestHandlerFactory> handlersOf)
      throws IOException {
    this(Transport.AUTO, settings, LocalRoutes.NONE, AdminPaths.NONE, clock::nanos, handlersOf);
  }

  private ProxyRig(
      Transport transport,
      ProxySettings given,
      LocalRoutes routes,
      AdminPaths admin,
      Ticker ticker,
      Function<RoutingEngine, RequestHandlerFactory> handlersOf)
      throws IOException {
    ProxySettings settings = keepingConnections(forgetful(given));
    fleet = new Fleet(FleetSettings.DEFAULTS.withoutEjectionLimit(), ticker);
    Signals learner = new Signals();
    PolicySetup inOrder =
        new PolicySetup(pool -> (r, now) -> waiting(first(pool, r, now), r), List.of())
            .withAnswers(learner);
    RoutingEngine engine =
        new RoutingEngine(
            fleet,
            inOrder,
            EngineSettings.DEFAULTS,
            new Outcomes(),
            ticker,
            ScriptedRandomSource.seeded(1)::roll);
    this.settings = settings.withListen(settings.listen().at("127.0.0.1", 0).over(transport));
    tls = new EngineTls(EngineTlsSettings.DEFAULTS, "", settings.listen().tlsProvider());
    server =
        ProxyServer.start(
            this.settings,
            new ProxyContext(
                engine,
                AffinitySettings.DEFAULT,
                new ServedPaths(routes, admin, uri -> pins.worker(uri)),
                new Callers(),
                new Reports(),
                (to, method, uri, headers) -> tracer.begin(to, method, uri, headers),
                new Prompts(),
                new Edits(),
                ticker,
                ScriptedRandomSource.seeded(2)::roll,
                new NameTable(
                    host -> lookup.addresses(host),
                    settings.upstream().nameTtl(),
                    settings.upstream().connectTimeout(),
                    ticker),
                tls,
                FrequentSweeps.of(handlersOf.apply(engine)),
                RouterId.NONE));
  }

  /** No memory of failed requests unless a test sets its own, because tests repeat them. */
  private static ProxySettings forgetful(ProxySettings settings) {
    RetrySettings retry = settings.retry();
    return retry.poison().equals(PoisonSettings.DEFAULTS)
        ? settings.withRetry(retry.withPoison(PoisonSettings.OFF))
        : settings;
  }

  /** Longer timeout unless a test sets its own. On a slow machine connections must not expire. */
  private static ProxySettings keepingConnections(ProxySettings settings) {
    UpstreamSettings upstream = settings.upstream();
    return upstream.poolIdleTimeout().equals(UpstreamSettings.DEFAULTS.poolIdleTimeout())
        ? settings.withUpstream(upstream.withPoolIdleTimeout(Duration.ofHours(1)))
        : settings;
  }

  private @Nullable Worker waiting(@Nullable Worker chosen, RoutingRequest request) {
    request.picked(request.result().withWaitMillis(waitMillis));
    return chosen;
  }

  private static @Nullable Worker first(Pool pool, RoutingRequest request, long now) {
    request.picked(PickResult.of(PickReason.TURN));
    for (int i = 0; i < pool.size(); i++) {
      if (request.admits(pool.worker(i), now)) {
        return pool.worker(i);
      }
    }
    return null;
  }

  /** Records the signals that policies learn from answers. */
  private final class Signals implements AnswerLearner {
    @Override
    public void placed(RoutingRequest request, LeaseView lease) {
      if (!placed.add(request)) {
        placedTwice.add(request);
      }
    }

    @Override
    public void answered(RoutingRequest request, LeaseView lease, long at) {
      signals.add("first token");
    }

    @Override
    public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
      signals.add(lease.usage());
      placed.remove(request);
    }

    @Override
    public void forget(Worker worker) {}
  }

  private final class Callers implements CallerCheck {
    @Override
    public Verdict known(@Nullable String authorization) {
      return callers.known(authorization);
    }

    @Override
    public Verdict ask(String authorization) {
      return callers.ask(authorization);
    }

    @Override
    public Admittance admission(@Nullable String authorization) {
      return callers.admission(authorization);
    }

    @Override
    public Admittance askAdmission(String authorization) {
      return callers.askAdmission(authorization);
    }

    @Override
    public boolean confirms() {
      return callers.confirms();
    }

    @Override
    public boolean identifies() {
      return callers.identifies();
    }

    @Override
    public @Nullable Principal sentFor(RequestHeaders headers, ClientIdentity sender) {
      return callers.sentFor(headers, sender);
    }

    @Override
    public @Nullable KeyHolder holder(@Nullable String authorization) {
      return callers.holder(authorization);
    }
  }

  private final class Prompts implements PromptListener {
    @Override
    public boolean wants(RequestFacts facts) {
      return "reported".equals(facts.model());
    }

    @Override
    public void sent(
        RequestFacts facts, @Nullable Worker worker, @Nullable String authorization, byte[] body) {
      String id = worker == null ? null : worker.id();
      prompts.add(new Prompt(id, authorization, new String(body, UTF_8)));
    }
  }

  /** Adds a healthy worker. */
  public Worker worker(WorkerSpec spec) {
    Worker worker = fleet.add(spec);
    worker.probed(true);
    all.add(worker);
    return worker;
  }

  /** Adds a healthy worker with the model {@code m}. */
  public Worker worker(String url) {
    return worker(WorkerSpec.of(url).withModels(Set.of("m")));
  }

  public Fleet fleet() {
    return fleet;
  }

  /** The settings of the server at its start. */
  public ProxySettings settings() {
    return settings;
  }

  public ProxyServer server() {
    return server;
  }

  /** A new connection to the proxy. */
  public WireClient connect() throws IOException {
    return closing(new WireClient(server.port()));
  }

  /** Sends one request on a new connection and reads the answer. */
  public WireResponse ask(String request) throws IOException {
    try (WireClient client = new WireClient(server.port())) {
      return client.send(request).read();
    }
  }

  /** Closes {@code resource} before the proxy. */
  <T extends AutoCloseable> T closing(T resource) {
    toClose.add(resource);
    return resource;
  }

  public static String post(String path, String body) {
    return post(path, "", body);
  }

  /**
   * @param more further header lines, each with its line break
   */
  public static String post(String path, String more, String body) {
    return "POST "
        + path
        + " HTTP/1.1\r\nhost: router\r\ncontent-type: application/json\r\n"
        + more
        + "content-length: "
        + body.length()
        + "\r\n\r\n"
        + body;
  }

  /**
   * Waits until a counter has stopped to grow: it is the same after several rounds of requests as
   * before them. The router refuses these itself. Meanwhile its threads and those of the engine
   * have had many turns.
   */
  public void settled(LongSupplier counter) throws IOException {
    long before = 0;
    for (int same = 0; same < ROUNDS; ) {
      for (int i = 0; i < MANY_TURNS; i++) {
        assertThat(ask(MALFORMED).status()).isEqualTo(400);
      }
      long after = counter.getAsLong();
      same = after == before && after > 0 ? same + 1 : 0;
      before = after;
    }
  }

  public static void await(String what, BooleanSupplier condition) {
    Await.until(what, condition);
  }

  /** Closes all resources that must close before the proxy, above all clients. */
  public void leave() throws Exception {
    for (AutoCloseable resource : toClose) {
      resource.close();
    }
    toClose.clear();
  }

  @Override
  public void close() throws Exception {
    leave();
    await("no request under way", () -> server.running() == 0);
    await("no body kept", () -> server.bodies().taken() == 0);
    server.close();
    tls.close();
    for (Worker worker : all) {
      assertThat(worker.inFlight()).as("in flight on " + worker).isZero();
    }
    assertThat(placedTwice).isEmpty();
    BufferLeaks.checkLater();
  }

  private final class Outcomes implements EngineListener {
    @Override
    public void routed(RoutingRequest request, LeaseView lease) {
      inDecision.run();
    }

    @Override
    public void settled(LeaseView lease, Outcome outcome) {
      outcomes.add(outcome);
      inSettled.run();
    }

    @Override
    public void policyFailed(RuntimeException failure) {
      throw failure;
    }
  }

  private final class Edits implements RequestEdits {
    @Override
    public boolean needsModel() {
      return edits.needsModel();
    }

    @Override
    public @Nullable String editTarget(RequestFacts facts, String target) {
      return edits.editTarget(facts, target);
    }

    @Override
    public @Nullable Splice edit(RequestFacts facts, byte[] body, int length, boolean whole) {
      return edits.edit(facts, body, length, whole);
    }
  }

  private final class Reports implements ProxyListener {
    @Override
    public void on(RequestEvent event) {
      switch (event) {
        case LimitReached(ClientIdentity client, ClientLimit limit) ->
            limited.add(client.name() + " " + limit);
        case QueueWaitEnded wait -> waits.add(wait.admitted());
        case DeferralEnded deferral -> deferrals.add(deferral.decided());
        case RequestRetried retry -> retried.add(retry.reason());
        case RequestEnded(RequestReport report) -> ended(report);
        case RouterAnswered(RequestReport report) -> lines.add(line(report));
        case RequestStarted _,
            WorkerAwaited _,
            WorkerChosen _,
            PromptPrefilled _,
            SessionEnded _ -> {}
        case ModelMissing(Worker worker, String model) -> missing.add(worker.id() + " " + model);
      }
    }

    @Override
    public boolean receivesOwnAnswers() {
      return true;
    }

    @Override
    public boolean readsUsage() {
      return readsUsage;
    }

    private String line(RequestReport report) {
      identities.add(report.request().identity().kind() + " " + report.request().identity().name());
      return report.request().client()
          + " "
          + report.request().method()
          + " "
          + report.request().uri()
          + " "
          + report.result().status()
          + " "
          + report.result().reason()
          + " "
          + report.traffic().usage().completionTokens();
    }

    private void ended(RequestReport report) {
      lines.add(line(report));
      ended.add(
          new Ended(
              report.result().status(),
              report.result().blame().name(),
              report.attempts(),
              report.result().clientLeft(),
              report.times().firstByte(),
              report.traffic().chunksOut(),
              report.traffic().bytesOut()));
    }
  }
}
