package io.pointsman.api.decide;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.Decision;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.proxy.identity.ModelRights;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.quota.QuotaAnswer;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import io.pointsman.request.coding.BodyCoding;
import io.pointsman.request.reader.ListedHeaders;
import io.pointsman.request.reader.Readers;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code POST /internal/route}: the query of Ray Serve's HAProxy to its ingress request router. The
 * query body is the client's body, complete, truncated or empty. The response is flat JSON with
 * texts that need no escapes. A body without a usable key never fails a request.
 *
 * <p>Ray's HAProxy does not report the end of a request, so no lease is created, see {@link
 * Choices#point}. A proxy that does report it sends {@code x-pointsman-lease-ttl: milliseconds}. It
 * then gets a lease, with the id from {@code x-pointsman-lease} if given, and errors in OpenAI's
 * format.
 */
public final class RayRouteApi implements LocalEndpoint {
  private static final Logger log = LoggerFactory.getLogger(RayRouteApi.class);

  /** Label with the name of a worker's deployment. */
  public static final String DEPLOYMENT = "deployment";

  private static final String ROUTE = "/internal/route";
  private static final String METHOD_HEADER = "x-serve-request-method";
  private static final String PATH_HEADER = "x-serve-request-path";
  private static final String TRUNCATED_HEADER = "x-body-truncated";
  private static final String LEASE_TTL_HEADER = "x-pointsman-lease-ttl";

  /** Former name of {@link #LEASE_TTL_HEADER}. Ignored, it would mean that no lease is wanted. */
  private static final String FORMER_TTL_HEADER = "x-pointsman-hold";

  private static final String LEASE_HEADER = "x-pointsman-lease";

  /**
   * Header of a refusal that permits the proxy to choose a worker itself. A router may be wrong
   * just after its start, or when it sees all workers as down.
   */
  public static final String UNPLACED_HEADER = "x-pointsman-unplaced";

  private static final String RANK_HEADER = "X-data-parallel-rank";

  /**
   * Maximum length of a model name in characters. Responses repeat the name, and proxies buffer
   * responses.
   */
  private static final int LONGEST_MODEL = 1024;

  private final DecisionService service;
  private final RoutingEngine engine;
  private final Choices choices;
  private final Readers readers;
  private final AtomicBoolean warned = new AtomicBoolean();
  private final AtomicBoolean cutTtls = new AtomicBoolean();

  public RayRouteApi(DecisionService service) {
    this.service = service;
    engine = service.engine();
    choices = service.choices();
    readers = service.readers();
  }

  /**
   * Adds its routes.
   *
   * @return this
   */
  public RayRouteApi addTo(LocalRoutes.Builder routes) {
    routes.on("POST", ROUTE, this).forPlanes("POST", ROUTE).ofClients(ROUTE);
    return this;
  }

  /**
   * Adds a route that answers 501 because the service is disabled. A 404 of a worker would
   * otherwise reach the proxy's clients.
   */
  public static void off(LocalRoutes.Builder routes) {
    LocalResponse off =
        Json.error(ProxyError.DECIDE_DISABLED, ProxyError.DECIDE_DISABLED.message());
    routes.on("POST", ROUTE, new Off(off));
  }

  private record Off(LocalResponse answer) implements LocalEndpoint {
    @Override
    public boolean takesHeadOfBody() {
      return true;
    }

    @Override
    public LocalResponse handle(LocalRequest request) {
      return answer;
    }
  }

  @Override
  public boolean takesHeadOfBody() {
    return true;
  }

  /** Unlimited here; the proxy's limit applies. */
  @Override
  public int mostBytes() {
    return Integer.MAX_VALUE;
  }

  @Override
  public LocalResponse handle(LocalRequest request) {
    RequestFacts facts = facts(request);
    boolean read = facts.body().kind() != BodyVerdict.Kind.MALFORMED;
    String model = read ? facts.model() : null;
    String problem = problem(request, facts, model);
    LeaseTerms terms;
    try {
      terms = terms(request);
    } catch (IllegalArgumentException e) {
      return Refusal.malformed(String.valueOf(e.getMessage()));
    }
    if (problem != null) {
      return terms == null
          ? error(ProxyError.INVALID_BODY.status(), problem)
          : Refusal.malformed(problem);
    }
    if (!permitted(request, facts)) {
      ProxyError error = ProxyError.MODEL_NOT_PERMITTED;
      return terms == null ? error(error.status(), error.message()) : Refusal.of(error);
    }
    QuotaAnswer.Refused limited = service.limited(request, model, facts);
    if (limited != null) {
      Reply reply = Rejections.reply(limited);
      return new LocalResponse(reply.status(), reply.headers(), reply.body());
    }
    PrefixBlocks key = read ? facts.prefix() : PrefixBlocks.NONE;
    if (key.count() == 0) {
      warnOnce(request);
    }
    RoutingRequest routing =
        RoutingRequest.builder()
            .model(model)
            .role(service.roleOfWhole(model))
            .prefix(key)
            .affinity(facts.affinity())
            .fields(facts.fields())
            .build();
    routing.named(request.requestId());
    return switch (terms == null ? choices.point(routing) : choices.choose(routing, terms)) {
      case Choice.Pointed(Worker worker) ->
          Json.answer(200, pointed(worker, model, facts, request));
      case Choice.Leased(Worker worker, String lease, long expiresInNanos) ->
          Json.answer(
              200,
              pointed(worker, model, facts, request)
                  .put("lease", lease)
                  .put("expires_in_ms", TimeUnit.NANOSECONDS.toMillis(expiresInNanos)));
      case Choice.Refused(Decision.Rejected rejected) ->
          terms == null ? refused(rejected, model) : refusedLease(rejected, model);
      case Choice.TooManyLeases(long retryAfterNanos) ->
          Refusal.tooManyLeases(choices.settings().maxLeases(), retryAfterNanos);
      case Choice.IdTaken taken -> Refusal.of(taken);
    };
  }

  /**
   * The requested lease; null if the caller wants none. Too long a duration is reduced, because it
   * is a setting of the proxy that clients cannot correct.
   */
  private @Nullable LeaseTerms terms(LocalRequest request) {
    if (request.header(FORMER_TTL_HEADER) != null) {
      throw new IllegalArgumentException(
          FORMER_TTL_HEADER + ": former name (expected: " + LEASE_TTL_HEADER + ")");
    }
    String written = request.header(LEASE_TTL_HEADER);
    if (written == null) {
      return null;
    }
    long most = choices.settings().maxTtl().toMillis();
    long millis = written.matches("[0-9]{1,15}") ? Long.parseLong(written) : -1;
    if (millis < 1) {
      throw new IllegalArgumentException(
          LEASE_TTL_HEADER + ": " + written + " (expected: milliseconds, 1 to " + most + ")");
    }
    if (millis > most && cutTtls.compareAndSet(false, true)) {
      log.warn(
          "a proxy asks for leases of {} ms; decide.max-ttl reduces them to {} ms. Logged once",
          millis,
          most);
    }
    Duration ttl = Duration.ofMillis(Math.min(millis, most));
    return new LeaseTerms(ttl, request.header(LEASE_HEADER), DecisionService.owner(request));
  }

  /**
   * Reads the client's request. Without the client's path, the key comes from {@code messages},
   * otherwise from {@code prompt}. Bodies are read as if truncated, so a partial body counts too.
   */
  private RequestFacts facts(LocalRequest request) {
    String path = request.header(PATH_HEADER);
    if (path != null && path.startsWith("/")) {
      return read(Endpoint.of(method(request), path), request).at(path);
    }
    RequestFacts chat = read(Endpoint.CHAT_COMPLETIONS, request);
    if (chat.prefix().count() > 0) {
      return chat;
    }
    return read(Endpoint.COMPLETIONS, request);
  }

  private RequestFacts read(Endpoint endpoint, LocalRequest request) {
    byte[] body = request.body();
    RequestHeaders all = new ListedHeaders(request.headers());
    RequestHeaders headers = request.client().restricted() ? RequestReader.withoutModel(all) : all;
    return readers.read(endpoint, headers, body, 0, body.length, true);
  }

  private static String method(LocalRequest request) {
    String method = request.header(METHOD_HEADER);
    return method == null || method.isEmpty() ? "POST" : method;
  }

  /** The whole body must be known, because a later member can name another model. */
  private static boolean permitted(LocalRequest request, RequestFacts facts) {
    if (!request.client().restricted()) {
      return true;
    }
    RequestHeaders headers = new ListedHeaders(request.headers());
    String model = facts.model();
    boolean known = model == null || !cut(request);
    return known
        && ModelRights.permits(request.client(), method(request), headers, facts, model, false);
  }

  private static boolean posts(LocalRequest request) {
    return method(request).equals("POST");
  }

  /** The problem with the model of a request; null if there is none. */
  private @Nullable String problem(
      LocalRequest request, RequestFacts facts, @Nullable String model) {
    if (model != null && model.length() > LONGEST_MODEL) {
      return "model: a name of "
          + model.length()
          + " characters (expected: up to "
          + LONGEST_MODEL
          + ")";
    }
    return posts(request) ? unnamed(request, facts) : null;
  }

  /** The problem with a request that names no model; null if a model is not required. */
  private @Nullable String unnamed(LocalRequest request, RequestFacts facts) {
    int cutAfter = cut(request) ? request.body().length : RequestFacts.WHOLE;
    return facts.unnamed(engine.modelsToName(), cutAfter);
  }

  private static boolean cut(LocalRequest request) {
    return request.truncated() || request.header(TRUNCATED_HEADER) != null;
  }

  private void warnOnce(LocalRequest request) {
    if (posts(request) && warned.compareAndSet(false, true)) {
      log.warn(
          "a body of {} bytes ({}) contains no routing key; such requests are placed by load. Check"
              + " that the proxy forwards the body. Logged once",
          request.body().length,
          cut(request) ? "the first part of a longer one" : "whole");
    }
  }

  private ObjectNode pointed(
      Worker worker, @Nullable String model, RequestFacts facts, LocalRequest request) {
    if (!cut(request) && request.header(BodyCoding.HEADER) == null) {
      // The Authorization header is the proxy's, not the client's.
      service.sent(facts, worker, null, request.body(), 0, request.body().length);
    }
    return pointed(worker, model);
  }

  private static ObjectNode pointed(Worker worker, @Nullable String model) {
    String url = worker.spec().url();
    HostPort at = HostPort.ofUrl(url);
    ObjectNode body = Json.object();
    body.put("host", at.bareHost());
    body.put("port", at.portOr(url.startsWith("https:") ? 443 : 80));
    body.put("replica_id", worker.id());
    String deployment = worker.spec().labels().get(DEPLOYMENT);
    if (deployment != null) {
      body.put(DEPLOYMENT, deployment);
    }
    ObjectNode headers = Json.object();
    if (model != null
        && model.contains(":")
        && !worker.spec().models().contains(model)
        && model.chars().allMatch(RayRouteApi::plain)) {
      headers.put(RequestReader.MULTIPLEXED, model);
    }
    if (worker.spec().rank() != WorkerSpec.NO_RANK) {
      headers.put(RANK_HEADER, Integer.toString(worker.spec().rank()));
    }
    if (!headers.isEmpty()) {
      body.set("request_headers", headers);
    }
    return body;
  }

  /**
   * True if the character needs no escape in JSON; Lua scripts parse only texts without escapes.
   * The body contains the model anyway.
   */
  private static boolean plain(int character) {
    return character >= ' ' && character != '"' && character != '\\' && character != 0x7F;
  }

  /**
   * A refusal for a proxy that requested a lease. {@link #UNPLACED_HEADER} permits the proxy to
   * choose a worker itself.
   */
  private LocalResponse refusedLease(Decision.Rejected rejected, @Nullable String model) {
    LocalResponse refusal = Refusal.of(rejected, model, service.busyStatus(model));
    boolean unplaced =
        switch (rejected.reason()) {
          case NO_WORKERS, MODELS_PENDING, NONE_AVAILABLE, ALL_TRIED -> true;
          case UNKNOWN_MODEL, ALL_BUSY, UNSPLITTABLE -> false;
        };
    return unplaced && anyoneServes(model) ? refusal.withHeader(UNPLACED_HEADER, "1") : refusal;
  }

  /**
   * True if every worker may serve the model and none sleeps; a proxy that chooses itself ignores
   * models, and a request to a sleeping engine hangs.
   */
  private boolean anyoneServes(@Nullable String model) {
    FleetSnapshot fleet = engine.fleet().snapshot();
    if (fleet.pool(service.roleOfWhole(model)).workers().stream().anyMatch(Worker::asleep)) {
      return false;
    }
    String base = model == null ? "" : model.substring(0, (model + ":").indexOf(':'));
    return model == null
        || fleet.pool(service.roleOfWhole(model)).workers().stream()
            .map(worker -> fleet.models(worker).names())
            .allMatch(names -> names.isEmpty() || names.contains(model) || names.contains(base));
  }

  private LocalResponse refused(Decision.Rejected rejected, @Nullable String model) {
    ProxyError error = Rejections.error(rejected.reason());
    if (error == ProxyError.UNKNOWN_MODEL) {
      return error(error.status(), "The model `" + model + "` does not exist.");
    }
    if (error == ProxyError.UNSPLITTABLE) {
      return error(error.status(), error.message());
    }
    int status = error == ProxyError.ALL_BUSY ? service.busyStatus(model) : error.status();
    return error(status, error.message())
        .withHeader("retry-after", Long.toString(Reply.seconds(rejected.retryAfterNanos())));
  }

  private static LocalResponse error(int status, String detail) {
    return Json.answer(status, Json.object().put("detail", detail));
  }
}
