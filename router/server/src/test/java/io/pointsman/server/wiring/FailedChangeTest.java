package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.HotSpotDiagnosticMXBean.ThreadDumpFormat;
import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Each part of a change of the configuration fails once, seen over sockets. */
@Timeout(240)
@SuppressWarnings("NullAway.Init") // set before each test
class FailedChangeTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";
  private static final String STREAM = "{\"model\":\"m\",\"messages\":[],\"stream\":true}";

  /** Names of virtual threads of the router's parts. */
  private static final List<String> OWN =
      List.of(
          "shadow-policy",
          "discovery-file",
          "kv-events",
          "kv-tokens",
          "keys-file",
          "engine-loads",
          "names",
          "engine-tls-files",
          "tls-files");

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final CountDownLatch streamEnds = new CountDownLatch(1);
  private ScriptedEngine one;
  private ScriptedEngine two;
  private ScriptedEngine three;
  private String keys;
  private TestCertificate certificate;

  @BeforeEach
  void start() throws Exception {
    one = engine();
    two = engine();
    three = engine();
    certificate = TestCertificate.make(directory, "engine", "ip:127.0.0.1");
    Path file = directory.resolve("keys.yaml");
    KeyFile.add(
        file, new StoredKey("bob", KeyRole.CLIENT, StoredKey.hash("pmk-bob"), List.of(), null));
    keys = file.toString();
    Files.writeString(directory.resolve("workers.yaml"), "- " + three.url() + "\n");
  }

  private ScriptedEngine engine() throws IOException {
    ScriptedEngine engine =
        ScriptedEngine.start(new Faults.Healthy("m", new Faults.OpenStreams(STREAM, streamEnds)));
    opened.push(engine);
    return engine;
  }

  @AfterEach
  void close() throws Exception {
    streamEnds.countDown();
    http.shutdownNow();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  private PointsmanConfig before(String more) {
    return config(
        """
        workers: ['%s']
        policy: round_robin
        listen: {port: 0}
        metrics: {port: 0}
        admin: {port: 0, api-key: a1}
        api-key: old-key
        limits: {max-body: 1MiB}
        """
                .formatted(one.url())
            + more);
  }

  /** Changes the parts that all routers have, and sources of workers. */
  private PointsmanConfig next(List<Integer> ports) {
    return config(
        """
        workers: ['%s']
        policy: cost
        session-affinity: soft
        model-policies: [{model: other, policy: random}]
        shadow-policy: least_load
        listen: {port: %d}
        metrics: {port: %d, vllm-router-names: true, like-production-stack: true}
        admin: {port: %d, api-key: a2}
        models: {merged: false}
        api-key: new-key
        auth: {keys-file: '%s'}
        limits: {max-body: 7MiB, max-concurrent-requests: 7, queue-size: 7}
        retry: {max-attempts: 7}
        capture: {file: '%s'}
        decisions: {sample: 1}
        decide: {ttl: 7s}
        batch: {enabled: true, directory: '%s'}
        engine-tls: {ca-file: '%s'}
        engine-load: {interval: 1s}
        pool: {name-ttl: 7s}
        kv-events: {mode: auto}
        discovery: {file: '%s'}
        kubernetes: {selector: 'app=x', namespace: a, url: 'http://127.0.0.1:1'}
        """
            .formatted(
                two.url(),
                ports.get(0),
                ports.get(1),
                ports.get(2),
                keys,
                directory.resolve("capture.jsonl"),
                directory.resolve("batches"),
                certificate.certificate(),
                directory.resolve("workers.yaml")));
  }

  /** Changes the TLS of all listeners, spans, batches and the split of prefill and decode. */
  private PointsmanConfig secured(List<Integer> ports) {
    String tls =
        "{certificate-file: '%s', key-file: '%s'}"
            .formatted(certificate.certificate(), certificate.key());
    return config(
        """
        workers: [{url: '%s', role: prefill}, {url: '%s', role: decode}]
        listen: {port: %d}
        metrics: {port: %d}
        admin: {port: %d, api-key: a2}
        tls: %s
        admin-tls: %s
        metrics-tls: %s
        api-key: new-key
        tracing: {enabled: true, endpoint: 'http://127.0.0.1:1/v1/traces'}
        batch: {enabled: true, directory: '%s', max-requests: 7}
        decide: {spoe-address: '127.0.0.1:%d'}
        disaggregation:
          protocol: lmcache
          notification-wait: 1ms
          receiver: '127.0.0.1/8300/8400'
          notification-address: '127.0.0.1:%d'
          registration-address: '127.0.0.1:%d'
          max-prefills: 7
        """
            .formatted(
                one.url(),
                two.url(),
                ports.get(0),
                ports.get(1),
                ports.get(2),
                tls,
                tls,
                tls,
                directory.resolve("batches"),
                ports.get(3),
                ports.get(4),
                ports.get(5)));
  }

  /** Ends the router's own paths and its metrics. */
  private static PointsmanConfig without(List<Integer> ports, String url) {
    return config(
        """
        workers: ['%s']
        policy: round_robin
        listen: {port: %d}
        metrics: {enabled: false}
        admin:
          port: %d
          enabled: false
          stack-endpoints: true
          refused-paths: [%s]
          ray-application: app
          api-key: a2
        models: {merged: false}
        decide: {enabled: false, max-leases: 7}
        api-key: new-key
        """
            .formatted(url, ports.get(0), ports.get(2), CHAT));
  }

  @Test
  void pathsLeasesAndMetricsGoBackToo() throws Exception {
    PointsmanConfig before = before("");
    Router router = started(before);
    List<Integer> ports = freePorts();
    PointsmanConfig next = without(ports, one.url());
    List<String> names = failEachPart(router, before, next, ports);
    assertThat(names).contains("decide", "metrics", "requests");

    router.change(before, next);
    assertThat(router.metricsUrl()).isNull();
    assertThat(call("GET", router.adminUrl() + "/activity", "a2", "")).isEqualTo(404);
    assertThat(call("POST", router.url() + CHAT, "", HI)).isEqualTo(501);
  }

  private static PointsmanConfig config(String yaml) {
    String health = "health: {first-retry: 10ms, max-retry: 50ms}\n";
    return PointsmanConfig.from(YamlConfig.parse("test", health + yaml));
  }

  /** Ports outside the range in which a connection of another process may take a free one. */
  private static List<Integer> freePorts() {
    return Stream.generate(FreePorts::next).limit(6).toList();
  }

  private HttpRequest request(String method, String url, String key, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(url))
            .method(method, HttpRequest.BodyPublishers.ofString(body));
    if (!key.isEmpty()) {
      request.header("authorization", "Bearer " + key);
    }
    return request.build();
  }

  private int call(String method, String url, String key, String body) throws Exception {
    return http.send(request(method, url, key, body), HttpResponse.BodyHandlers.ofString())
        .statusCode();
  }

  private static List<EngineRequest> chats(ScriptedEngine engine) {
    return engine.requests().stream().filter(each -> each.line().startsWith("POST /v1")).toList();
  }

  private static boolean healthy(Router router, ScriptedEngine engine) {
    return router.fleet().snapshot().workers().stream()
        .anyMatch(worker -> worker.id().equals(engine.id()) && worker.health().healthy());
  }

  /** A part that fails before or after its own work, with an exception or an error. */
  private record Failure(String part, boolean after, boolean error)
      implements UnaryOperator<ChangePart> {
    @Override
    public ChangePart apply(ChangePart each) {
      if (!each.name().equals(part)) {
        return each;
      }
      Runnable failing =
          () -> {
            if (after) {
              each.apply().run();
            }
            if (error) {
              throw new NoClassDefFoundError("gone");
            }
            throw new IllegalStateException("broken");
          };
      return new ChangePart(part, failing, each.undo(), each.drop(), each.finish());
    }
  }

  @Test
  void theOldConfigurationServesAfterAFailureOfEachPart() throws Exception {
    PointsmanConfig before = before("");
    Router router = started(before);
    List<Integer> ports = freePorts();
    PointsmanConfig next = next(ports);
    HttpResponse<InputStream> stream =
        http.send(
            request("POST", router.url() + CHAT, "", STREAM),
            HttpResponse.BodyHandlers.ofInputStream());
    failEachPart(router, before, next, ports);

    router.change(before, next);
    assertThat(router.url()).endsWith(":" + ports.getFirst());
    Await.until("the second engine", () -> healthy(router, two));
    Await.until("the third engine", () -> healthy(router, three));
    two.forget();
    three.forget();
    assertThat(call("POST", router.url() + CHAT, "", HI)).isEqualTo(401);
    assertThat(call("POST", router.url() + CHAT, "pmk-bob", HI)).isEqualTo(200);
    assertThat(Stream.of(two, three).flatMap(each -> chats(each).stream()))
        .extracting(each -> each.header("authorization"))
        .containsExactly("Bearer new-key");
    assertThat(call("GET", router.adminUrl() + "/shadow", "a2", "")).isEqualTo(200);
    streamEnds.countDown();
    try (InputStream body = stream.body()) {
      assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8))
          .isEqualTo("data: begun\n\ndata: [DONE]\n\n");
    }
  }

  @Test
  void tlsSpansBatchesAndRolesGoBackToo() throws Exception {
    String batches = "batch: {enabled: true, directory: '" + directory.resolve("batches") + "'}\n";
    PointsmanConfig before = before(batches);
    Router router = started(before);
    List<Integer> ports = freePorts();
    PointsmanConfig next = secured(ports);
    List<String> names = failEachPart(router, before, next, ports);
    assertThat(names)
        .contains("tls", "tracing", "policies", "workers", "decide.spoe-address")
        .contains("disaggregation.notification-address", "disaggregation.registration-address");

    router.change(before, next);
    assertThat(List.of(router.url(), router.adminUrl(), String.valueOf(router.metricsUrl())))
        .allMatch(url -> url.startsWith("https://"));
  }

  private Router started(PointsmanConfig before) {
    Router router = Router.start(before, "test");
    opened.push(router);
    Await.until("healthy", () -> healthy(router, one));
    return router;
  }

  /** Fails each part once before and once after its work; its names. */
  private List<String> failEachPart(
      Router router, PointsmanConfig before, PointsmanConfig next, List<Integer> ports)
      throws Exception {
    List<String> names = names(router, before, next, ports);
    assertThat(names).hasSizeGreaterThan(Residue.FOUND).doesNotHaveDuplicates();
    List<String> old =
        List.of(router.url(), router.adminUrl(), String.valueOf(router.metricsUrl()));
    assertOldServes(router, old, "at the start");
    Map<String, Long> threads = ownThreads();
    Residue residue = Residue.now();
    for (String name : names) {
      for (boolean after : List.of(false, true)) {
        Failure failure = new Failure(name, after, after);
        assertThatThrownBy(() -> router.change(before, next, List.of(), failure))
            .as(failure.toString())
            .isInstanceOfSatisfying(
                ReloadFailedException.class,
                e -> {
                  assertThat(e).hasMessageStartingWith(name + ": ");
                  assertThat(e.getSuppressed()).isEmpty();
                });
        assertOldServes(router, old, failure.toString());
        for (int port : ports) {
          try (ServerSocket free = new ServerSocket()) {
            free.setReuseAddress(true);
            free.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
          }
        }
      }
    }
    residue.verify();
    Await.until(
        () -> "threads: " + ownThreads() + " (expected: " + threads + ")",
        () -> ownThreads().equals(threads));
    return names;
  }

  /** The names of the parts, from a change that is taken back by the next one. */
  private List<String> names(
      Router router, PointsmanConfig before, PointsmanConfig next, List<Integer> ports)
      throws Exception {
    List<String> names = new ArrayList<>();
    router.change(
        before,
        next,
        List.of(),
        part -> {
          names.add(part.name());
          return part;
        });
    assertThat(router.url()).endsWith(":" + ports.getFirst());
    router.change(/* before= */ next, /* next= */ before);
    names.remove("listeners"); // does not fail
    Await.until("healthy again", () -> healthy(router, one));
    Await.until("others gone", () -> router.fleet().snapshot().workers().size() == 1);
    Files.deleteIfExists(directory.resolve("capture.jsonl"));
    return names;
  }

  private void assertOldServes(Router router, List<String> addresses, String when)
      throws Exception {
    assertThat(List.of(router.url(), router.adminUrl(), String.valueOf(router.metricsUrl())))
        .as(when)
        .isEqualTo(addresses);
    Await.until(when + ": healthy", () -> healthy(router, one));
    Await.until(
        () -> when + ": " + router.fleet().snapshot().workers(),
        () -> router.fleet().snapshot().workers().size() == 1);
    one.forget();
    assertThat(call("POST", router.url() + CHAT, "", HI)).as(when).isEqualTo(200);
    assertThat(chats(one)).as(when).hasSize(1);
    assertThat(chats(one).getFirst().header("authorization")).as(when).isEqualTo("Bearer old-key");
    assertThat(chats(one).getFirst().header("traceparent")).as(when).isNull();
    String large = "{\"model\":\"m\",\"messages\":[],\"user\":\"" + "x".repeat(2 << 20) + "\"}";
    assertThat(call("POST", router.url() + CHAT, "", large)).as(when).isEqualTo(413);
    String admin = router.adminUrl();
    assertThat(call("GET", admin + "/workers", "a2", "")).as(when).isEqualTo(401);
    assertThat(call("GET", admin + "/workers", "a1", "")).as(when).isEqualTo(200);
    assertThat(call("GET", admin + "/shadow", "a1", "")).as(when).isEqualTo(404);
    String question = "{\"body\":" + HI + ",\"reserve\":false}";
    assertThat(call("POST", admin + "/v1/decide", "a1", question)).as(when).isEqualTo(200);
    HttpResponse<String> page =
        http.send(
            request("GET", addresses.getLast(), "", ""), HttpResponse.BodyHandlers.ofString());
    assertThat(page.statusCode()).as(when).isEqualTo(200);
    assertThat(page.body())
        .as(when)
        .contains("policy=\"round_robin\"")
        .doesNotContain("vllm_router_", "vllm:");
    Path capture = directory.resolve("capture.jsonl");
    assertThat(Files.exists(capture) ? Files.size(capture) : 0).as(when).isZero();
  }

  /** Number of virtual threads of the router's parts by name. */
  private Map<String, Long> ownThreads() {
    Path file = directory.resolve("threads.txt");
    try {
      Files.deleteIfExists(file);
      ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class)
          .dumpThreads(file.toString(), ThreadDumpFormat.TEXT_PLAIN);
      try (Stream<String> lines = Files.lines(file)) {
        return lines
            .flatMap(line -> OWN.stream().filter(name -> line.contains(" \"" + name + "\" ")))
            .collect(Collectors.groupingBy(name -> name, TreeMap::new, Collectors.counting()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
