package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.ReportedLoad;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.PeerLabels;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The worker API of vllm-router with additional fields: {@code /workers}, {@code /add_worker},
 * {@code /remove_worker}, {@code /list_workers}, {@code /get_loads}. Paths, statuses, field names
 * and texts are those of vllm-router. Loads are requests in flight under every policy.
 */
public final class WorkersApi {
  static final String LIST = "/workers";

  private static final String WORKERS = "/workers/";

  /** Labels that are members of a new worker, with {@code _} in place of {@code -}. */
  private static final List<String> LABELS = labels();

  /** The members of a new worker. */
  private static final List<String> MEMBERS = members();

  private final Fleet fleet;
  private final Membership membership;
  private final Ticker ticker;

  public WorkersApi(Fleet fleet, Membership membership, Ticker ticker) {
    this.fleet = fleet;
    this.membership = membership;
    this.ticker = ticker;
  }

  private static List<String> labels() {
    List<String> names = new ArrayList<>(PeerLabels.ALL);
    names.add(WorkerSpec.NODE_LABEL);
    names.add(WorkerSpec.ZONE_LABEL);
    names.add(WorkerSpec.WEIGHT_LABEL);
    return List.copyOf(names);
  }

  private static List<String> members() {
    List<String> names = new ArrayList<>(List.of("url", "model_id", "worker_type", "labels"));
    LABELS.forEach(label -> names.add(member(label)));
    // Members that vllm-router takes, without an effect here: its clients send them.
    names.addAll(
        List.of(
            "api_key",
            "priority",
            "cost",
            "tokenizer_path",
            "reasoning_parser",
            "tool_parser",
            "chat_template"));
    return List.copyOf(names);
  }

  private static String member(String label) {
    return label.replace('-', '_');
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("GET", LIST, _ -> all()).forPlanes("GET", LIST);
    routes.on("POST", LIST, this::create);
    routes.below("GET", WORKERS, this::one);
    routes.below("DELETE", WORKERS, this::deleted);
    routes.on("POST", "/add_worker", this::add);
    routes.on("POST", "/remove_worker", this::remove);
    routes.on("GET", "/list_workers", _ -> list());
    routes.on("GET", "/get_loads", _ -> loads());
  }

  private LocalResponse all() {
    ObjectNode body = Json.object();
    ArrayNode workers = body.putArray("workers");
    int prefill = 0;
    int decode = 0;
    for (Worker worker : fleet.snapshot().workers()) {
      workers.add(described(worker));
      prefill += worker.spec().role() == Role.PREFILL ? 1 : 0;
      decode += worker.spec().role() == Role.DECODE ? 1 : 0;
    }
    body.put("total", workers.size());
    ObjectNode stats = body.putObject("stats");
    stats.put("prefill_count", prefill);
    stats.put("decode_count", decode);
    stats.put("regular_count", workers.size() - prefill - decode);
    return Json.answer(200, body);
  }

  ObjectNode described(Worker worker) {
    ObjectNode node = Json.object();
    node.put("url", WorkerUrls.of(worker));
    node.put("model_id", worker.models().stream().sorted().findFirst().orElse("unknown"));
    node.put("worker_type", name(worker.spec().role()));
    String bootstrap = worker.spec().labels().get(PeerLabels.BOOTSTRAP_PORT);
    if (bootstrap != null && bootstrap.matches("\\d{1,5}")) {
      node.put("bootstrap_port", Integer.parseInt(bootstrap));
    }
    node.put("is_healthy", worker.health().healthy());
    node.put("load", worker.inFlight());
    node.put("connection_mode", "http");
    node.put("priority", (long) number(worker, "priority", 50));
    node.put("cost", number(worker, "cost", 1));
    node.put("id", worker.id());
    ArrayNode models = node.putArray("models");
    worker.models().stream().sorted().forEach(models::add);
    node.put("in_flight", worker.inFlight());
    node.put("max_in_flight", worker.maxInFlight());
    node.put("served", worker.served());
    node.put("failures", worker.failures());
    node.put("health", name(worker.health().status()));
    node.put("reason", worker.health().reason());
    node.put("breaker", name(worker.breaker().state()));
    node.put("breaker_openings", worker.breaker().opened());
    node.put("resting", worker.restLeft(ticker.nanos()) > 0);
    node.put("stalled", worker.stalled());
    node.put("draining", worker.draining() || worker.closing());
    node.put("cordoned", worker.cordoned());
    node.put("background", worker.background().count());
    node.put("drained", worker.drained());
    node.put("weight", worker.weight());
    node.put("share", worker.share(ticker.nanos()));
    ObjectNode engine = node.putObject("engine");
    engine.put("reported", reports(worker));
    engine.put("running", worker.capacity().reported().running());
    engine.put("waiting", worker.capacity().reported().waiting());
    engine.put("kv_use", worker.capacity().reported().kvUse());
    engine.put("others", worker.capacity().others());
    ObjectNode labels = node.putObject("labels");
    new TreeMap<>(worker.labels()).forEach(labels::put);
    node.put("asleep", worker.asleep());
    node.put("available", worker.eligible(ticker.nanos()));
    return node;
  }

  /** True if the engine has reported its load. */
  @SuppressWarnings("ReferenceEquality") // this constant is compared by identity
  private static boolean reports(Worker worker) {
    return worker.capacity().reported() != ReportedLoad.NONE;
  }

  private static double number(Worker worker, String label, double standard) {
    String written = worker.spec().labels().get(label);
    try {
      return written == null ? standard : Double.parseDouble(written);
    } catch (NumberFormatException e) {
      return standard;
    }
  }

  static String name(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT);
  }

  private LocalResponse one(LocalRequest request) {
    String url = request.pathAfter(WORKERS);
    Worker found = find(url);
    return found == null ? missing(request, url) : Json.answer(200, described(found));
  }

  /** The answer for a path below {@code /workers/} that names no worker. */
  static LocalResponse missing(LocalRequest request, String name) {
    return CordonApi.isAction(name)
        ? Json.error(
                ProxyError.METHOD_NOT_ALLOWED, "method: " + request.method() + " (expected: POST)")
            .withHeader("allow", "POST")
        : notFound(name);
  }

  static LocalResponse notFound(String name) {
    return refused(LocalError.WORKER_NOT_FOUND, "worker " + name + " not found");
  }

  private @Nullable Worker find(String url) {
    String base = WorkerUrls.trimmed(url);
    for (Worker worker : fleet.snapshot().workers()) {
      if (WorkerUrls.names(base, worker) || worker.id().equals(base)) {
        return worker;
      }
    }
    return null;
  }

  private LocalResponse create(LocalRequest request) throws InterruptedException {
    JsonNode body = parsed(request.body());
    String url = body.path("url").asText("");
    if (url.isBlank()) {
      return refused(
          LocalError.ADD_WORKER_FAILED, "url: missing (expected: a JSON object with url)");
    }
    String unknown = QueryNames.problemOfMembers(body, MEMBERS);
    if (unknown != null) {
      return refused(LocalError.ADD_WORKER_FAILED, unknown);
    }
    String forbidden = membership.forbidden(url);
    if (forbidden != null) {
      return refused(LocalError.WORKER_FORBIDDEN, forbidden);
    }
    String model = body.path("model_id").asText("");
    boolean named = !model.isBlank() && !model.equals("unknown");
    Role role = role(body.path("worker_type"));
    if (role == null) {
      return refused(
          LocalError.ADD_WORKER_FAILED,
          "worker_type: " + body.path("worker_type") + " (expected: regular, prefill or decode)");
    }
    Map<String, String> labels = new HashMap<>();
    String problem = WorkerChange.addLabels(body.path("labels"), labels);
    labels.putAll(peerLabels(body));
    problem = problem == null ? WorkerChange.problemOfWeight(labels) : problem;
    problem = problem == null ? peerProblem(labels) : problem;
    if (problem == null) {
      problem = membership.add(url, named ? Set.of(model) : Set.of(), role, labels);
    }
    return problem == null
        ? done("Successfully added worker: " + url)
        : refused(LocalError.ADD_WORKER_FAILED, problem);
  }

  /** The role; regular if the field is missing, null if the field names no role. */
  private static @Nullable Role role(JsonNode type) {
    if (type.isMissingNode() || type.isNull()) {
      return Role.REGULAR;
    }
    for (Role role : Role.values()) {
      if (name(role).equals(type.asText())) {
        return role;
      }
    }
    return null;
  }

  /**
   * Labels in the request: node, zone, weight, and the fields of a peer ({@code bootstrap_port} and
   * others).
   */
  private static Map<String, String> peerLabels(JsonNode body) {
    Map<String, String> labels = new HashMap<>();
    for (String label : LABELS) {
      JsonNode value = body.path(member(label));
      if (!value.isMissingNode() && !value.isNull()) {
        labels.put(label, value.asText());
      }
    }
    return labels;
  }

  private static @Nullable String peerProblem(Map<String, String> labels) {
    try {
      Peer _ = PeerLabels.addTo(Peer.UNKNOWN, labels);
      return null;
    } catch (IllegalArgumentException e) {
      return String.valueOf(e.getMessage());
    }
  }

  /** The body as JSON; a missing node if it is not JSON. */
  static JsonNode parsed(byte[] body) {
    try {
      return Json.MAPPER.readTree(body);
    } catch (IOException e) { // not JSON, or not UTF-8: the bytes are in memory
      return MissingNode.getInstance();
    }
  }

  private LocalResponse deleted(LocalRequest request) {
    String url = request.pathAfter(WORKERS);
    if (membership.remove(url) == 0) {
      Worker named = find(url);
      if (named == null || !fleet.remove(named)) {
        return missing(request, url);
      }
    }
    return done("Successfully removed worker: " + url);
  }

  private LocalResponse add(LocalRequest request) throws InterruptedException {
    String unknown = QueryNames.problem(request, List.of("url"));
    if (unknown != null) {
      return LocalResponse.text(LocalError.INVALID_QUERY, unknown);
    }
    String url = request.parameter("url");
    if (url == null || url.isBlank()) {
      return LocalResponse.text(
          LocalError.INVALID_QUERY, "url: missing (expected: /add_worker?url=http://host:port)");
    }
    String forbidden = membership.forbidden(url);
    if (forbidden != null) {
      return LocalResponse.text(LocalError.WORKER_FORBIDDEN, forbidden);
    }
    String problem = membership.add(url, Set.of());
    return problem == null
        ? LocalResponse.text(200, "Successfully added worker: " + url)
        : LocalResponse.text(LocalError.ADD_WORKER_FAILED, problem);
  }

  private LocalResponse remove(LocalRequest request) {
    String unknown = QueryNames.problem(request, List.of("url"));
    if (unknown != null) {
      return LocalResponse.text(LocalError.INVALID_QUERY, unknown);
    }
    String url = request.parameter("url");
    if (url == null || url.isBlank()) {
      return LocalResponse.text(
          LocalError.INVALID_QUERY, "url: missing (expected: /remove_worker?url=http://host:port)");
    }
    // 200 also if the worker is unknown, as in vllm-router.
    membership.remove(url);
    return LocalResponse.text(200, "Successfully removed worker: " + url);
  }

  private LocalResponse list() {
    ObjectNode body = Json.object();
    ArrayNode urls = body.putArray("urls");
    fleet.snapshot().workers().forEach(worker -> urls.add(WorkerUrls.of(worker)));
    return Json.answer(200, body);
  }

  private LocalResponse loads() {
    ObjectNode body = Json.object();
    ArrayNode workers = body.putArray("workers");
    for (Worker worker : fleet.snapshot().workers()) {
      ObjectNode each = workers.addObject();
      each.put("worker", WorkerUrls.of(worker));
      each.put("load", worker.inFlight());
    }
    return Json.answer(200, body);
  }

  private static LocalResponse done(String message) {
    ObjectNode body = Json.object();
    body.put("success", true);
    body.put("message", message);
    body.putNull("worker");
    return Json.answer(200, body);
  }

  static LocalResponse refused(LocalError error, String message) {
    ObjectNode body = Json.object();
    body.put("error", message);
    body.put("code", error.code());
    return Json.answer(error, body);
  }
}
