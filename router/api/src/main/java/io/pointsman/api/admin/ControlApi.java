package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.api.admin.ControlPath.ControlEffect;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.SleepStates;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.RouterId;
import java.io.IOException;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Control calls to engines ({@link ControlPath}). Each goes to all engines of a model at the same
 * time, or to the workers named by {@code ?worker=}. The response has one result for each worker.
 * It is one class because all calls share the selection of workers and the form of the response.
 */
public final class ControlApi {
  private static final String WORKER = "worker";
  private static final String MODEL = "model";
  private static final String ID = "id";
  private static final String RESULTS = "results";

  /** Query parameters of engines that resemble the router's: {@code /pause?mode=} of vLLM. */
  private static final List<String> ENGINES_OWN = List.of("mode");

  /** Lists of parameters, weights as text. */
  private static final int MOST_BODY = 64 << 20;

  /** Largest part of the response for the body of one engine. */
  private static final int MOST_RESULT = 256 << 10;

  private static final List<String> PASSED =
      List.of(
          "accept",
          "authorization",
          "content-encoding",
          "content-type",
          RouterId.VIA,
          "x-request-id");

  /** Sends a client's request to an engine. */
  @FunctionalInterface
  public interface OneCall {
    EngineClient.Answer forward(
        Worker worker, String method, String url, Map<String, String> headers, byte[] body)
        throws IOException;
  }

  private final Fleet fleet;
  private final OneCall engines;
  private final SleepStates sleeping;
  private final Consumer<Worker> modelsChanged;

  /**
   * @param modelsChanged reads a worker's models again; may block
   */
  public ControlApi(
      Fleet fleet, OneCall engines, SleepStates sleeping, Consumer<Worker> modelsChanged) {
    this.fleet = fleet;
    this.engines = engines;
    this.sleeping = sleeping;
    this.modelsChanged = modelsChanged;
  }

  /**
   * Calls engines with {@code client}.
   *
   * @param timeout maximum duration of a call; may change
   */
  public static OneCall calling(EngineClient client, Supplier<Duration> timeout) {
    return (worker, method, url, headers, body) ->
        client.forward(
            worker.spec(), method, url, headers, body.length == 0 ? null : body, timeout.get());
  }

  /** Adds a route for each control path without a route. */
  public void addTo(LocalRoutes.Builder routes) {
    for (ControlPath each : ControlPath.ALL) {
      if (routes.has(each.method(), each.path())) {
        continue;
      }
      LocalEndpoint endpoint = new Call(each);
      if (each.prefix()) {
        routes.below(each.method(), each.path(), endpoint);
      } else {
        routes.on(each.method(), each.path(), endpoint);
      }
    }
  }

  /** The control paths of production-stack's router, for the engine that {@code ?id=} names. */
  private static final Set<String> BY_ID = Set.of("/sleep", "/wake_up", "/is_sleeping");

  /**
   * Adds the routes of production-stack's router that put one engine to sleep. They come before
   * those of {@link #addTo}.
   *
   * @param refused paths that get no route here
   */
  public void addById(LocalRoutes.Builder routes, EngineIds ids, Set<String> refused) {
    for (ControlPath each : ControlPath.ALL) {
      if (BY_ID.contains(each.path()) && !refused.contains(each.path())) {
        routes.on(each.method(), each.path(), request -> byId(each, request, ids));
      }
    }
  }

  private LocalResponse byId(ControlPath path, LocalRequest request, EngineIds ids) {
    String id = request.parameter(ID);
    if (id == null || id.isEmpty()) {
      return stackError(LocalError.ENGINE_ID_INVALID, "Invalid request: missing target Engine Id.");
    }
    EngineIds.Engine engine = ids.all().get(id);
    if (engine == null) {
      return stackError(LocalError.ENGINE_ID_INVALID, "Engine with Id " + id + " not found.");
    }
    String url = engine.worker().spec().url();
    List<Worker> ranks =
        fleet.snapshot().workers().stream()
            .filter(worker -> worker.spec().url().equals(url))
            .toList();
    Result result =
        one(path, ranks.isEmpty() ? List.of(engine.worker()) : ranks, request, passed(request));
    if (result.error() != null) {
      return stackError(LocalError.ENGINE_FAILED, "Engine with Id " + id + ": " + result.error());
    }
    if (!result.done()) {
      return result.hasErrorStatus()
          ? Json.answer(result.status(), result.body())
          : Json.answer(LocalError.ENGINE_FAILED, result.body());
    }
    return path.effect() == ControlEffect.NONE
        ? Json.answer(result.status(), result.body())
        : Json.answer(result.status(), Json.object().put("status", "success"));
  }

  /** An error in the form of production-stack's router. */
  private static LocalResponse stackError(LocalError error, String message) {
    return Json.answer(error, Json.object().put("error", message));
  }

  private final class Call implements LocalEndpoint {
    private final ControlPath path;

    Call(ControlPath path) {
      this.path = path;
    }

    @Override
    public int mostBytes() {
      return MOST_BODY;
    }

    @Override
    public LocalResponse handle(LocalRequest request) throws InterruptedException {
      Targets targets = targets(path, request);
      return targets.refusal() == null ? all(path, targets.workers(), request) : targets.refusal();
    }
  }

  /** The workers of a call, or the reason for a refusal. */
  private record Targets(List<Worker> workers, @Nullable LocalResponse refusal) {
    static Targets refused(ProxyError error, String message) {
      return new Targets(List.of(), Json.error(error, message));
    }
  }

  private Targets targets(ControlPath path, LocalRequest request) {
    String misspelt = QueryNames.misspelt(request, List.of(WORKER, MODEL), ENGINES_OWN);
    if (misspelt != null) {
      return Targets.refused(ProxyError.INVALID_PARAMETER, misspelt);
    }
    FleetSnapshot snapshot = fleet.snapshot();
    List<String> named = parameters(request.query(), WORKER);
    if (!named.isEmpty()) {
      return named(snapshot, named);
    }
    if (snapshot.workers().isEmpty()) {
      return Targets.refused(ProxyError.NO_WORKERS, "no workers are registered");
    }
    String model = model(request);
    if (model == null && path.ofAdapters()) {
      return ofAdapter(snapshot, path, request);
    }
    if (model == null) {
      return new Targets(snapshot.workers(), null);
    }
    List<Worker> serving = withAny(snapshot, Set.of(model));
    return serving.isEmpty() ? unknown(model) : new Targets(serving, null);
  }

  private static Targets unknown(String model) {
    return Targets.refused(ProxyError.UNKNOWN_MODEL, "The model `" + model + "` does not exist.");
  }

  private static Targets named(FleetSnapshot snapshot, List<String> names) {
    Set<Worker> found = new HashSet<>();
    for (String name : names) {
      String base = WorkerUrls.trimmed(name);
      boolean known = false;
      for (Worker worker : snapshot.workers()) {
        if (worker.id().equals(base) || WorkerUrls.names(base, worker)) {
          known = true;
          found.add(worker);
        }
      }
      if (!known) {
        return Targets.refused(
            ProxyError.WORKER_NOT_FOUND,
            "worker: " + name + " (expected: the id or URL of a worker, see GET /workers)");
      }
    }
    return new Targets(snapshot.workers().stream().filter(found::contains).toList(), null);
  }

  /**
   * The workers of an adapter's base model. A known adapter names its base. An unknown one is for
   * all workers, unless their models differ.
   */
  private static Targets ofAdapter(FleetSnapshot snapshot, ControlPath path, LocalRequest request) {
    JsonNode body = json(request.body());
    String adapter = body.path("lora_name").asText(body.path("name").asText(""));
    if (path.prefix()) {
      adapter = request.pathAfter(path.path());
    }
    Set<String> bases = new HashSet<>();
    for (Worker worker : snapshot.workers()) {
      boolean has = snapshot.models(worker).names().contains(adapter);
      boolean base = snapshot.models(worker).bases().contains(adapter);
      if (has && !base) {
        bases.addAll(snapshot.models(worker).bases());
      }
    }
    if (!bases.isEmpty()) {
      return new Targets(withAny(snapshot, bases), null);
    }
    Set<String> models = snapshot.modelsToName();
    if (!models.isEmpty()) {
      return Targets.refused(
          ProxyError.INVALID_BODY,
          "model: missing (expected: ?model= with the adapter's base model, one of "
              + String.join(", ", models.stream().limit(20).toList())
              + ")");
    }
    return new Targets(snapshot.workers(), null);
  }

  /** The workers that serve one of the models, or have not reported theirs. */
  private static List<Worker> withAny(FleetSnapshot snapshot, Set<String> models) {
    return snapshot.workers().stream()
        .filter(
            worker ->
                snapshot.models(worker).any()
                    || snapshot.models(worker).names().stream().anyMatch(models::contains))
        .toList();
  }

  private static @Nullable String model(LocalRequest request) {
    String parameter = request.parameter(MODEL);
    boolean small = request.body().length <= LocalEndpoint.SMALL;
    String inBody = small ? json(request.body()).path(MODEL).asText("") : "";
    String model = parameter == null ? inBody : parameter;
    return model.isEmpty() ? null : model;
  }

  private static JsonNode json(byte[] body) {
    try {
      JsonNode node = Json.MAPPER.readTree(body);
      return node == null ? Json.object() : node;
    } catch (IOException e) {
      return Json.object();
    }
  }

  private static List<String> parameters(String query, String name) {
    List<String> values = new ArrayList<>();
    for (String pair : query.split("&", -1)) {
      if (pair.startsWith(name + "=")) {
        String value = pair.substring(name.length() + 1);
        for (String each : decoded(value).split(",", -1)) {
          if (!each.isBlank()) {
            values.add(each.strip());
          }
        }
      }
    }
    return values;
  }

  private static String decoded(String value) {
    try {
      return URLDecoder.decode(value, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      return value;
    }
  }

  /** The query for engines: without the parameters of the router. */
  private static String query(String query) {
    List<String> kept = new ArrayList<>();
    for (String pair : query.split("&", -1)) {
      boolean own =
          pair.startsWith(WORKER + "=")
              || pair.startsWith(MODEL + "=")
              || pair.startsWith(ID + "=");
      if (!pair.isEmpty() && !own) {
        kept.add(pair);
      }
    }
    return kept.isEmpty() ? "" : "?" + String.join("&", kept);
  }

  /** Result of the call at one engine. */
  private record Result(int status, JsonNode body, @Nullable String error) {
    /** True if the engine did it. Some routes report a failure with status 200. */
    boolean done() {
      return error == null && status / 100 == 2 && body.path("success").asBoolean(true);
    }

    /** True if the engine answered with the status of an error. */
    boolean hasErrorStatus() {
      return status >= 400;
    }
  }

  /** Calls each engine once; the ranks of one engine share its result. */
  private LocalResponse all(ControlPath path, List<Worker> workers, LocalRequest request)
      throws InterruptedException {
    Map<String, List<Worker>> byUrl = new LinkedHashMap<>();
    for (Worker worker : workers) {
      byUrl.computeIfAbsent(worker.spec().url(), _ -> new ArrayList<>()).add(worker);
    }
    Map<String, String> headers = passed(request);
    Map<String, Result> results = new LinkedHashMap<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      Map<String, Future<Result>> pending = new LinkedHashMap<>();
      byUrl.forEach(
          (url, of) -> pending.put(url, threads.submit(() -> one(path, of, request, headers))));
      for (Map.Entry<String, Future<Result>> each : pending.entrySet()) {
        results.put(each.getKey(), each.getValue().get());
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
    return answer(workers, results);
  }

  /** The client's headers for engines. */
  private static Map<String, String> passed(LocalRequest request) {
    Map<String, String> headers = new TreeMap<>();
    for (String name : PASSED) {
      String value = request.header(name);
      if (value != null) {
        headers.put(name, value);
      }
    }
    return headers;
  }

  private Result one(
      ControlPath path, List<Worker> workers, LocalRequest request, Map<String, String> headers) {
    boolean states = path.effect() == ControlEffect.SLEEPS || path.effect() == ControlEffect.WAKES;
    if (states) {
      sleeping.callBegins();
    }
    try {
      if (path.effect() == ControlEffect.SLEEPS) {
        // Before the call: a request that arrives meanwhile would hang or be aborted.
        workers.forEach(worker -> worker.sleep(true));
      }
      if (path.aborts()) {
        workers.forEach(Worker::abortsOnRequest);
      }
      Result result = call(workers.getFirst(), request, headers);
      if (states) {
        settle(path, workers, result);
      } else if (path.effect() == ControlEffect.MODELS) {
        workers.forEach(modelsChanged);
      }
      return result;
    } finally {
      if (states) {
        sleeping.callEnded();
      }
    }
  }

  /** Records the state after the call; the engine's own word is better than the call's effect. */
  private void settle(ControlPath path, List<Worker> workers, Result result) {
    boolean sleeps = path.effect() == ControlEffect.SLEEPS;
    boolean asleep =
        switch (sleeping.ask(workers.getFirst())) {
          case ASLEEP -> true;
          case AWAKE -> false;
          case UNSUPPORTED -> sleeps == result.done();
          case UNKNOWN -> sleeps ? result.status() == 0 || result.done() : !result.done();
        };
    workers.forEach(worker -> worker.sleep(asleep));
  }

  private Result call(Worker worker, LocalRequest request, Map<String, String> headers) {
    String url = worker.spec().base() + request.path() + query(request.query());
    try {
      EngineClient.Answer answer =
          engines.forward(worker, request.method(), url, headers, request.body());
      return new Result(answer.status(), body(answer.body()), null);
    } catch (IOException | IllegalArgumentException e) {
      return new Result(0, Json.object(), String.valueOf(e.getMessage()));
    }
  }

  /** The body as JSON; text if it is none; null if it is empty or too large. */
  private static JsonNode body(byte[] body) {
    if (body.length == 0 || body.length > MOST_RESULT) {
      return Json.MAPPER.nullNode();
    }
    try {
      JsonNode node = Json.MAPPER.readTree(body);
      return node == null ? Json.MAPPER.nullNode() : node;
    } catch (IOException e) {
      return Json.MAPPER.getNodeFactory().textNode(new String(body, StandardCharsets.UTF_8));
    }
  }

  private static LocalResponse answer(List<Worker> workers, Map<String, Result> results) {
    ObjectNode body = Json.object();
    common(results, body);
    ArrayNode list = body.putArray(RESULTS);
    for (Worker worker : workers) {
      Result result = results.get(worker.spec().url());
      if (result == null) {
        continue;
      }
      ObjectNode each = list.addObject();
      each.put("worker", worker.id());
      each.put("url", WorkerUrls.of(worker));
      each.put("done", result.done());
      if (result.error() == null) {
        each.put("status", result.status());
        each.set("body", result.body());
      } else {
        each.put("error", result.error());
      }
    }
    return Json.answer(status(results.values()), body);
  }

  /**
   * 200 if all engines did it. If all refuse with the same status, that status; but 401 would mean
   * the key of the admin listener. Otherwise 502.
   */
  private static int status(Collection<Result> results) {
    if (results.stream().allMatch(Result::done)) {
      return 200;
    }
    int first = results.iterator().next().status();
    boolean refused = (first / 100 == 4 && first != 401) || first == 501 || first == 503;
    return refused && results.stream().allMatch(each -> each.status() == first)
        ? first
        : LocalError.ENGINE_FAILED.status();
  }

  /** Repeats members that all engines answer alike, for example {@code is_sleeping}. */
  private static void common(Map<String, Result> results, ObjectNode body) {
    JsonNode first = results.values().iterator().next().body();
    for (Iterator<String> names = first.fieldNames(); names.hasNext(); ) {
      String name = names.next();
      JsonNode value = first.path(name);
      boolean same =
          results.values().stream().allMatch(each -> each.body().path(name).equals(value));
      if (same && !name.equals(RESULTS)) {
        body.set(name, value);
      }
    }
  }
}
