package io.pointsman.it.plane;

import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.SlowRelay;
import io.pointsman.it.support.WaitFor;
import io.pointsman.plane.haproxy.HaproxyPlane;
import io.pointsman.plane.haproxy.HaproxySettings;
import io.pointsman.server.embed.Pointsman;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.sim.FreePorts;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A real proxy, a router for its decisions, and engines behind both. The router's ports are fixed
 * in advance, so another router can replace it.
 */
final class PlaneRig implements AutoCloseable {
  static final String MODEL = "sim";

  /** The proxy's timeout for the router, on a busy machine. */
  static final Duration PATIENCE = Duration.ofSeconds(20);

  /** Lease duration, longer than any wait, so only a settlement releases a lease. */
  private static final Duration PLACES = Duration.ofMinutes(10);

  private static final Pattern LOAD = Pattern.compile("\"load\":(\\d+)");

  /** The proxy and its protocol for queries. */
  enum Way {
    HAPROXY_SPOE,
    NGINX
  }

  private final Way way;
  private final int routerPort = FreePorts.next();
  private final int adminPort = FreePorts.next();
  private final int spoePort = FreePorts.next();
  private final List<SimEngine> engines = new ArrayList<>();
  private final List<WorkerSpec> workers = new ArrayList<>();
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private String clientsKey = "";
  private String carriersKey = "";
  private String engineKey = "";
  private int port;
  private int askedAt = adminPort;
  private int askedBySpoeAt = spoePort;
  private Duration patience = PATIENCE;

  PlaneRig(Way way) {
    this.way = way;
    String program = way == Way.NGINX ? "nginx" : "haproxy";
    assumeThat(
            Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(path -> new File(path, program).canExecute()))
        .as("%s on the PATH", program)
        .isTrue();
    assumeThat(way != Way.NGINX || NginxProcess.installed()).as("nginx's Lua module").isTrue();
  }

  /** Registers a resource to be closed with the rig. */
  <T extends AutoCloseable> T opened(T each) {
    opened.push(each);
    return each;
  }

  /** Sets the keys that the rig's own requests and the proxy send. */
  void keys(String clients, String carriers) {
    clientsKey = clients;
    carriersKey = carriers;
  }

  /** Sets the key that the proxy adds for engines. */
  void engineKey(String key) {
    engineKey = key;
  }

  /** Delays queries with a mark on their way to the router, and sets the proxy's timeout. */
  List<SlowRelay> slowly(String mark, Duration delay, Duration patience) throws IOException {
    SlowRelay http = opened(SlowRelay.open(adminPort, mark, delay));
    SlowRelay spoe = opened(SlowRelay.open(spoePort, mark, delay));
    askedAt = http.port();
    askedBySpoeAt = spoe.port();
    this.patience = patience;
    return List.of(http, spoe);
  }

  /** Adds engines that answer immediately, behind the router. */
  PlaneRig engines(int count) {
    return engines(count, UnaryOperator.identity());
  }

  PlaneRig engines(int count, UnaryOperator<SimConfig> change) {
    for (int i = 0; i < count; i++) {
      SimEngine engine = engine(change);
      engines.add(engine);
      workers.add(WorkerSpec.of(engine.url()));
    }
    return this;
  }

  /** Starts an engine that the router does not know yet. */
  SimEngine engine(UnaryOperator<SimConfig> change) {
    return opened(SimEngine.start(change.apply(SimConfig.instant().withModels(MODEL))));
  }

  /** Adds an engine with a script of bytes, behind the router. */
  RawEngine scripted(RawEngine.Script script) throws IOException {
    RawEngine engine = opened(RawEngine.start(MODEL, script));
    workers.add(WorkerSpec.of(engine.url()));
    return engine;
  }

  /** Adds an engine that refuses every request without a key, probes included. */
  RawEngine demanding(String key, RawEngine.Script script) throws IOException {
    RawEngine engine = scripted(script);
    engine.demand("Bearer " + key);
    return engine;
  }

  /** Adds a worker that is started elsewhere. */
  void worker(WorkerSpec worker) {
    workers.add(worker);
  }

  /** Replaces all workers. */
  PlaneRig behind(List<WorkerSpec> others) {
    workers.clear();
    workers.addAll(others);
    return this;
  }

  List<SimEngine> engines() {
    return engines;
  }

  SimEngine engineAt(String worker) {
    return engines.stream()
        .filter(engine -> WorkerSpec.idOf(engine.url()).equals(worker))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no engine is worker " + worker));
  }

  /**
   * Starts a router in this process and waits until its workers are healthy.
   *
   * @param settings paths and values in turn
   */
  Router router(String policy, String... settings) {
    Pointsman.Builder builder =
        Pointsman.builder()
            .policy(policy)
            .set("listen.port", Integer.toString(routerPort))
            .set("admin.port", Integer.toString(adminPort))
            .set("decide.spoe-address", spoe())
            .set("metrics.enabled", "false")
            .set("drain-timeout", "0s");
    for (int i = 0; i < settings.length; i += 2) {
      builder.set(settings[i], settings[i + 1]);
    }
    workers.forEach(builder::worker);
    Router router = opened(builder.startRouter());
    WaitFor.until(
        "workers healthy",
        WaitFor.LONG,
        () ->
            router.fleet().snapshot().workers().stream()
                .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
    return router;
  }

  /** The configuration of a router that the proxy asks by SPOE, or not. */
  PointsmanConfig config(boolean bySpoe) {
    String urls = String.join("', '", workers.stream().map(WorkerSpec::url).toList());
    return PointsmanConfig.from(
        YamlConfig.parse(
            "test",
            "listen: {port: %d}\nadmin: {port: %d}\nmetrics: {enabled: false}\nworkers: ['%s']\n"
                    .formatted(routerPort, adminPort, urls)
                + "policy: round_robin\ndrain-timeout: 0s\ndecide: {spoe-address: '"
                + (bySpoe ? spoe() : "")
                + "'}\n"));
  }

  /** Starts a router as a separate process. */
  RouterProcess routerProcess(String policy) throws IOException {
    String urls = String.join(",", workers.stream().map(WorkerSpec::url).toList());
    return opened(
        RouterProcess.startAt(
            routerPort,
            "--admin-port",
            Integer.toString(adminPort),
            "--workers",
            urls,
            "--policy",
            policy,
            "--decide-spoe-address",
            spoe()));
  }

  int spoePort() {
    return spoePort;
  }

  private String spoe() {
    return "127.0.0.1:" + spoePort;
  }

  /** Starts the proxy and waits until it knows the workers. */
  AutoCloseable carrier() throws IOException {
    return carrier(PLACES);
  }

  /**
   * @param ttl lease duration
   */
  AutoCloseable carrier(Duration ttl) throws IOException {
    AutoCloseable started = started(ttl);
    if (started instanceof HaproxyPlane plane) {
      WaitFor.until(
          () -> "HAProxy knows the workers: " + plane.output(),
          WaitFor.LONG,
          () -> plane.workers() == workers.size());
    }
    awaitPinned(() -> "pinned: " + output(started));
    return started;
  }

  /** Starts the proxy, even if nothing is reachable. */
  void carrierAlone() throws IOException {
    AutoCloseable started = started(PLACES);
    WaitFor.until(() -> "it listens: " + output(started), WaitFor.LONG, this::answers);
  }

  private boolean answers() {
    try {
      return get(port, "/").status() > 0;
    } catch (IOException e) {
      return false;
    }
  }

  private AutoCloseable started(Duration ttl) throws IOException {
    return switch (way) {
      case HAPROXY_SPOE ->
          haproxy(ttl, InetSocketAddress.createUnresolved("127.0.0.1", askedBySpoeAt));
      case NGINX -> nginx(ttl);
    };
  }

  /** The messages of a proxy. */
  static String output(AutoCloseable carrier) {
    return carrier instanceof HaproxyPlane plane
        ? plane.output()
        : ((NginxProcess) carrier).output();
  }

  private NginxProcess nginx(Duration ttl) throws IOException {
    NginxProcess nginx = opened(NginxProcess.start(askedAt, ttl, patience, carriersKey, engineKey));
    port = nginx.port();
    return nginx;
  }

  private HaproxyPlane haproxy(Duration ttl, InetSocketAddress spoe) throws IOException {
    HaproxySettings settings =
        HaproxySettings.of(
                InetSocketAddress.createUnresolved("127.0.0.1", FreePorts.next()),
                URI.create("http://127.0.0.1:" + askedAt),
                spoe)
            .withTimeout(patience)
            .withTtl(ttl)
            .withApiKey(carriersKey)
            .withEngineKey(engineKey);
    HaproxyPlane plane = opened(HaproxyPlane.start(settings));
    port = URI.create(plane.url()).getPort();
    return plane;
  }

  /** Waits until a request is served by its chosen worker. */
  void awaitPinned() {
    awaitPinned(() -> "a request is pinned");
  }

  private void awaitPinned(Supplier<String> otherwise) {
    WaitFor.until(otherwise, WaitFor.LONG, this::pinned);
  }

  private boolean pinned() {
    try {
      HttpAnswer answer = send(completion("pinned?"), authorization(clientsKey));
      return answer.status() == 200 && answer.header("x-pointsman-worker") != null;
    } catch (IOException e) {
      return false;
    }
  }

  /** The proxy's port. */
  int port() {
    return port;
  }

  int routerPort() {
    return routerPort;
  }

  /** The port of the router's admin listener, where the proxy asks. */
  int adminPort() {
    return adminPort;
  }

  static String completion(String prompt) {
    return "{\"model\":\"%s\",\"max_tokens\":4,\"prompt\":\"%s\"}".formatted(MODEL, prompt);
  }

  /** Sends a completion through the proxy, on a new connection. */
  HttpAnswer send(String body, String... headers) throws IOException {
    return send(port, body, headers);
  }

  static HttpAnswer send(int port, String body, String... headers) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      try {
        client.send("POST", "/v1/completions", bytes, List.of(headers));
      } catch (IOException e) {
        // A server that refuses a request by its head closes early; the response can still be read.
      }
      return client.read();
    }
  }

  /** Sends the body to the path of Anthropic's API. */
  HttpAnswer sendMessage(String body, String... headers) throws IOException {
    return sendTo("/v1/messages?beta=true", body, headers);
  }

  /** As {@link #sendMessage}, to the path in a form that engines take for the same. */
  HttpAnswer sendMessageEncoded(String body, String... headers) throws IOException {
    return sendTo("/v1//%6dessages?beta=true", body, headers);
  }

  private HttpAnswer sendTo(String target, String body, String... headers) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      return client.send("POST", target, bytes, List.of(headers)).read();
    }
  }

  /** The header with the key; none if the key is empty. */
  static String[] authorization(String key) {
    return key.isEmpty() ? new String[0] : new String[] {"Authorization: Bearer " + key};
  }

  /** Sends a request without a body. */
  static HttpAnswer get(int port, String target, String... headers) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      return client.send("GET", target, new byte[0], List.of(headers)).read();
    }
  }

  /** The load of all workers, from {@code GET /workers}. */
  int load() {
    try {
      HttpAnswer answer = get(adminPort, "/workers", authorization(carriersKey));
      if (answer.status() != 200) {
        throw new AssertionError("GET /workers: " + answer.status() + " " + answer.text());
      }
      Matcher load = LOAD.matcher(answer.text());
      int sum = 0;
      while (load.find()) {
        sum += Integer.parseInt(load.group(1));
      }
      return sum;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  void awaitNoLoad() {
    WaitFor.until(() -> "counted back: " + load(), WaitFor.LONG, () -> load() == 0);
  }

  static WorkerSpec known(String url) {
    return WorkerSpec.of(url).withModels(Set.of(MODEL));
  }

  @Override
  public void close() {
    while (!opened.isEmpty()) {
      close(opened.pop());
    }
  }

  private static void close(AutoCloseable each) {
    try {
      each.close();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }
}
