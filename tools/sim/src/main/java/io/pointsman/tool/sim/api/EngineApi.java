package io.pointsman.tool.sim.api;

import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimEndpoint;
import io.pointsman.tool.sim.http.SimExchange;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.link.KvNode;
import io.pointsman.tool.sim.live.AbortPhase;
import io.pointsman.tool.sim.live.EngineCore;
import io.pointsman.tool.sim.live.EngineCounters;
import io.pointsman.tool.sim.live.Generator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The engine's HTTP interface: finds the route, counts work, applies failures. */
public final class EngineApi implements SimEndpoint {
  /** vLLM's message while it shuts down. */
  static final String CLOSED = "cannot schedule new futures after shutdown";

  private final EngineCore engine;
  private final Runnable dead;
  private final @Nullable KvNode node;
  private final SimRoutes routes = new SimRoutes();
  private final RestApi rest = new RestApi(this::resumeHung);

  /** Requests that hang, each on its own connection. */
  private final Set<Hung> hung = new LinkedHashSet<>();

  private record Hung(SimExchange exchange, SimRoutes.Route route) {}

  /**
   * Creates the interface of one engine.
   *
   * @param node its part in KV transfers, if it has a role
   * @param dead runs when a request has ended the engine
   */
  public EngineApi(EngineCore engine, @Nullable KvNode node, Runnable dead) {
    this.engine = engine;
    this.dead = dead;
    this.node = node;
    generation(new Generator(engine));
    information(new InfoApi(engine));
    rest.addTo(routes);
    administration(new AdminApi(engine, node));
    if (node != null) {
      handOvers(new KvApi(node));
    }
  }

  @Override
  public void handle(SimExchange exchange) {
    Map<String, SimRoutes.Route> methods = routes.at(exchange.path());
    if (methods == null) {
      exchange.respond(404, SimJson.object().put("detail", "Not Found"));
      return;
    }
    SimRoutes.Route route = route(methods, exchange.method());
    if (route == null) {
      byte[] body = SimJson.bytes(SimJson.object().put("detail", "Method Not Allowed"));
      Map<String, String> allow = Map.of("Allow", String.join(", ", methods.keySet()));
      exchange.respond(405, "application/json", body, allow);
      return;
    }
    if (route.works()) {
      count(exchange);
      if (node != null && node.log().on()) {
        KvApi.log(node, exchange);
      }
    }
    if (route.works() && engine.ended()) {
      String message = engine.died() ? Generator.DEAD : CLOSED;
      exchange.fail(500, "InternalServerError", message, null);
      return;
    }
    if (!exchange.path().startsWith("/sim/") && strike(exchange, route)) {
      return;
    }
    if (route.works() && rest.rests()) {
      await(exchange, route);
      return;
    }
    route.endpoint().handle(exchange);
  }

  private static SimRoutes.@Nullable Route route(
      Map<String, SimRoutes.Route> methods, String method) {
    SimRoutes.Route route = methods.get(method);
    if (route == null && method.equals("HEAD")) {
      route = methods.get("GET");
    }
    return route == null ? methods.get("*") : route;
  }

  private void count(SimExchange exchange) {
    EngineCounters counters = engine.counters();
    counters.began();
    exchange.onEnded(
        () -> {
          if (exchange.faulted() || exchange.status() >= 400) {
            counters.failed();
          } else if (exchange.clientGone()) {
            counters.abandoned();
          } else {
            counters.served();
          }
        });
  }

  /**
   * Applies failures to a request.
   *
   * @return true if a failure has taken over the exchange
   */
  private boolean strike(SimExchange exchange, SimRoutes.Route route) {
    boolean taken = false;
    for (Fault fault : engine.failures().draw(exchange.path(), route.works(), exchange.body())) {
      taken |= apply(fault, exchange, route);
    }
    return taken;
  }

  private boolean apply(Fault fault, SimExchange exchange, SimRoutes.Route route) {
    switch (fault) {
      case Fault.ResetAfterBytes reset -> exchange.breakAfter(reset.bytes(), reset.orderly());
      case Fault.SlowFirstToken slow -> exchange.delayFirstToken(slow.millis());
      case Fault.MalformedChunk malformed -> exchange.malform();
      case Fault.Status status -> {
        refuse(exchange, status);
        return true;
      }
      case Fault.Poison poison -> {
        exchange.fail(500, "InternalServerError", Generator.DEAD, null);
        engine.die();
        dead.run();
        return true;
      }
      case Fault.Hang hang -> {
        hang(exchange, hang, route);
        return true;
      }
      case Fault.Refuse refuse -> {}
      case Fault.FlappingHealth flapping -> {}
    }
    return false;
  }

  private static void refuse(SimExchange exchange, Fault.Status fault) {
    int after = fault.retryAfterSeconds();
    String type = fault.code() == 503 ? "Service Unavailable" : "InternalServerError";
    byte[] body = SimJson.bytes(exchange.error(fault.code(), type, "failure: switched on", null));
    Map<String, String> headers =
        after > 0 ? Map.of("Retry-After", Integer.toString(after)) : Map.of();
    exchange.respond(fault.code(), "application/json", body, headers);
  }

  private void hang(SimExchange exchange, Fault.Hang fault, SimRoutes.Route route) {
    Hung request = await(exchange, route);
    if (fault.forMillis() > 0) {
      engine.driver().laterInWallTime(fault.forMillis(), () -> resume(request, false));
    }
  }

  /** Keeps a request until {@link #resume}. */
  private Hung await(SimExchange exchange, SimRoutes.Route route) {
    Hung request = new Hung(exchange, route);
    hung.add(request);
    exchange.onGone(
        () -> {
          hung.remove(request);
          if (route.works()) {
            engine.counters().aborted(AbortPhase.ACCEPTED);
          }
        });
    return request;
  }

  /** Serves the hanging requests, unless a failure that is active now strikes them. */
  public void resumeHung() {
    List.copyOf(hung).forEach(request -> resume(request, true));
  }

  /**
   * @param struck true if failures may strike it once more
   */
  private void resume(Hung request, boolean struck) {
    SimExchange exchange = request.exchange;
    if (!hung.remove(request) || exchange.done()) {
      return;
    }
    exchange.onGone(() -> {});
    try {
      if (!struck || !strike(exchange, request.route)) {
        request.route.endpoint().handle(exchange);
      }
    } catch (RequestError e) {
      exchange.fail(e.status(), e.type(), e.text(), e.param());
    }
  }

  private void generation(Generator generator) {
    ChatApi chat = new ChatApi(engine, generator);
    CompletionsApi completions = new CompletionsApi(engine, generator);
    ResponsesApi responses = new ResponsesApi(engine, generator);
    MessagesApi messages = new MessagesApi(engine, generator);
    TokensApi tokens = new TokensApi(engine, generator);
    AudioApi audio = new AudioApi(engine, generator);
    routes.work("/v1/chat/completions", chat::handle);
    routes.work("/v1/completions", completions::handle);
    routes.work("/v1/responses", responses::create);
    routes.below("GET", ResponsesApi.PATH, responses::retrieve, false);
    routes.below("DELETE", ResponsesApi.PATH, responses::delete, false);
    routes.below("POST", ResponsesApi.PATH, responses::cancel, false);
    routes.work("/v1/messages", messages::create);
    routes.plain("POST", "/v1/messages/count_tokens", messages::countTokens);
    routes.work("/generate", new SglangApi(engine, generator)::handle);
    routes.work("/custom/generate", tokens::handle);
    routes.work("/v1/audio/transcriptions", audio::handle);
    routes.work("/v1/audio/translations", audio::handle);
    routes.below("*", "/echo/", EchoApi::handle, true);
    pooling(new PoolingApi(engine, generator));
    if (engine.profile().scaleOut()) {
      RenderApi render = new RenderApi(engine);
      routes.work("/inference/v1/generate", tokens::handle);
      routes.plain("POST", "/v1/chat/completions/render", x -> render.one(x, chat::read));
      routes.plain("POST", "/v1/completions/render", x -> render.each(x, completions::read));
      routes.plain("POST", "/v1/responses/render", x -> render.one(x, responses::read));
      routes.plain("POST", "/v1/messages/render", x -> render.one(x, messages::read));
    }
  }

  private void pooling(PoolingApi pooling) {
    TokenizeApi tokenize = new TokenizeApi(engine);
    routes.work("/v1/embeddings", pooling::embeddings);
    routes.work("/v1/rerank", pooling::rerank);
    routes.work("/rerank", pooling::rerank);
    routes.work("/v1/score", pooling::score);
    routes.work("/score", pooling::score);
    routes.plain("POST", "/tokenize", tokenize::tokenize);
    routes.plain("POST", "/detokenize", tokenize::detokenize);
  }

  private void information(InfoApi info) {
    routes.plain("GET", "/v1/models", info::models);
    for (String path : new String[] {"/health", "/health_generate", "/ping"}) {
      routes.plain("GET", path, info::health);
    }
    routes.plain("POST", "/ping", info::health);
    routes.plain("GET", "/version", info::version);
    routes.plain("GET", "/load", info::serverLoad);
    routes.plain("GET", "/get_load", info::load);
    routes.plain("GET", "/loads", info::loads);
    routes.plain("GET", "/v1/loads", info::loads);
    routes.plain("GET", "/get_model_info", info::modelInfo);
    routes.plain("GET", "/get_server_info", info::serverInfo);
    routes.plain("GET", "/server_info", info::vllmConfig);
    if (engine.announcer() != null) {
      routes.plain("GET", "/kv_event_sources", info::eventSources);
    }
    routes.plain("GET", "/flush_cache", info::flushCache);
    routes.plain("POST", "/flush_cache", info::flushCache);
    routes.plain("POST", "/reset_prefix_cache", info::resetPrefixCache);
    routes.plain("GET", "/metrics", new MetricsApi(engine)::handle);
  }

  private void handOvers(KvApi kv) {
    routes.plain("GET", "/sim/kv", kv::state);
    routes.plain("GET", "/sim/requests", kv::requests);
    routes.plain("DELETE", "/sim/requests", kv::forgetRequests);
  }

  private void administration(AdminApi admin) {
    routes.plain("GET", "/sim/state", admin::state);
    routes.plain("POST", "/sim/reset-counters", admin::resetCounters);
    routes.plain("POST", "/sim/kv-events", admin::events);
    routes.plain("GET", "/sim/failures", admin::listFailures);
    routes.plain("POST", "/sim/failures", admin::addFailures);
    routes.plain("DELETE", "/sim/failures", admin::clearFailures);
    routes.below("DELETE", "/sim/failures/", admin::removeFailure, false);
  }
}
