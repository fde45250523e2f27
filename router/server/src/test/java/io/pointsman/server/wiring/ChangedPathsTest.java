package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.FreePorts;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The router's own paths and its metrics begin and end while it runs, over sockets. */
@Timeout(240)
@SuppressWarnings("NullAway.Init") // set before each test
class ChangedPathsTest {
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";
  private static final String STREAM = "{\"model\":\"m\",\"messages\":[],\"stream\":true}";
  private static final String QUESTION = "{\"body\":" + HI + "}";

  @TempDir Path directory;
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final CountDownLatch streamEnds = new CountDownLatch(1);
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    engine =
        ScriptedEngine.start(new Faults.Healthy("m", new Faults.OpenStreams(STREAM, streamEnds)));
    opened.push(engine);
  }

  @AfterEach
  void close() throws Exception {
    streamEnds.countDown();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  /** These groups of keys replace the standard ones. A value may continue on indented lines. */
  private PointsmanConfig config(String more) {
    Map<String, String> groups =
        new TreeMap<>(
            Map.of(
                "listen", "{port: 0}",
                "metrics", "{port: 0}",
                "admin", "{port: 0}",
                "health", "{first-retry: 10ms}",
                "policy", "round_robin",
                "workers", "['" + engine.url() + "']"));
    String group = "";
    for (String line : more.lines().toList()) {
      int colon = line.indexOf(':');
      if (line.startsWith(" ")) {
        groups.merge(group, "\n" + line, String::concat);
      } else {
        group = line.substring(0, colon);
        groups.put(group, line.substring(colon + 1).strip());
      }
    }
    StringBuilder yaml = new StringBuilder();
    groups.forEach((name, value) -> yaml.append(name + ": " + value + "\n"));
    return PointsmanConfig.from(YamlConfig.parse("test", yaml.toString()));
  }

  private Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    opened.push(router);
    Await.until(
        "healthy, with its models",
        () ->
            router.fleet().snapshot().workers().stream()
                .allMatch(each -> each.health().healthy() && !each.models().isEmpty()));
    return router;
  }

  /** The answer to a request. */
  private record Reply(int status, String body) {}

  /** One connection, in clear text or over TLS. The refusal of a body ends it; another follows. */
  private static final class Kept implements AutoCloseable {
    private Socket socket;
    private BufferedReader in;
    private boolean ends;

    Kept(Socket socket) throws IOException {
      this.socket = socket;
      in = reader(socket);
    }

    private static BufferedReader reader(Socket socket) throws IOException {
      return new BufferedReader(
          new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1));
    }

    static Kept to(String url) throws IOException {
      return new Kept(new Socket(InetAddress.getLoopbackAddress(), URI.create(url).getPort()));
    }

    void send(String method, String path, String key, String body) throws IOException {
      String head =
          "%s %s HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n%s%s\r\n%s"
              .formatted(
                  method,
                  path,
                  key.isEmpty() ? "" : "authorization: Bearer " + key + "\r\n",
                  body.isEmpty() ? "" : "content-length: " + body.length() + "\r\n",
                  body);
      socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
    }

    /** Null if the connection has ended instead. */
    @Nullable Reply read() throws IOException {
      String status = in.readLine();
      if (status == null) {
        return null;
      }
      int length = 0;
      for (String line = in.readLine(); line != null && !line.isEmpty(); line = in.readLine()) {
        ends |= line.equalsIgnoreCase("connection: close");
        if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
          length = Integer.parseInt(line.substring(line.indexOf(':') + 1).strip());
        }
      }
      char[] body = new char[length];
      for (int read = 0; read < length; ) {
        int more = in.read(body, read, length - read);
        if (more < 0) {
          throw new IOException("cut after " + read + " of " + length);
        }
        read += more;
      }
      return new Reply(Integer.parseInt(status.split(" ", 3)[1]), new String(body));
    }

    Reply call(String method, String path, String body) throws IOException {
      if (ends) {
        ends = false;
        int port = socket.getPort();
        socket.close();
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        in = reader(socket);
      }
      send(method, path, "", body);
      Reply reply = read();
      if (reply == null) {
        throw new IOException("the end of the connection");
      }
      return reply;
    }

    String untilLine(String line) throws IOException {
      StringBuilder read = new StringBuilder();
      for (String next = in.readLine(); next != null; next = in.readLine()) {
        read.append(next).append('\n');
        if (next.equals(line)) {
          break;
        }
      }
      return read.toString();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /**
   * A key with an effect on the answer to a request.
   *
   * @param admin true for a request to the admin listener
   * @param without the status without the effect
   * @param shown a part of the answer with the effect only; empty: the status differs
   */
  record Effect(
      String keys,
      boolean admin,
      String method,
      String path,
      String body,
      int with,
      int without,
      String shown) {
    @Override
    public String toString() {
      return keys.replaceAll("[{}]", "");
    }
  }

  private static final String ALIAS = "model-aliases: {other: m}\n";

  static List<Effect> effects() {
    return List.of(
        new Effect("admin: {port: 0, enabled: false}", true, "GET", "/activity", "", 404, 200, ""),
        new Effect("admin: {port: 0, enabled: false}", true, "GET", "/decisions", "", 404, 200, ""),
        new Effect(
            "admin: {port: 0, stack-endpoints: true}",
            false,
            "GET",
            "/engines",
            "",
            200,
            200,
            "engine_id"),
        new Effect(
            "admin: {port: 0, refused-paths: [/tokenize]}",
            false,
            "POST",
            "/tokenize",
            HI,
            501,
            200,
            "refused-paths"),
        new Effect(
            "admin: {port: 0, ray-application: app1}",
            false,
            "GET",
            "/-/routes",
            "",
            200,
            200,
            "app1"),
        new Effect(
            "models: {merged: true}\n" + ALIAS, false, "GET", "/v1/models", "", 200, 200, "other"),
        new Effect("decide: {enabled: false}", true, "POST", "/internal/route", HI, 501, 200, ""),
        new Effect("decide: {enabled: false}", true, "POST", "/v1/decide", QUESTION, 404, 200, ""),
        new Effect("metrics: {port: 0, enabled: false}", true, "GET", "/metrics", "", 404, 200, ""),
        new Effect(
            "metrics: {port: 0, vllm-router-names: true}",
            true,
            "GET",
            "/metrics",
            "",
            200,
            200,
            "vllm_router_active_workers 1"),
        new Effect(
            "metrics: {port: 0, like-production-stack: true}",
            false,
            "GET",
            "/metrics",
            "",
            200,
            404,
            "vllm:num_requests_running{"));
  }

  @ParameterizedTest
  @MethodSource("effects")
  void aPathBeginsAndEndsOnAConnectionThatStays(Effect effect) throws Exception {
    PointsmanConfig without =
        config(effect.keys.contains("merged") ? "models: {merged: false}\n" + ALIAS : "");
    PointsmanConfig with = config(effect.keys);
    Router router = started(without);
    try (Kept kept = Kept.to(effect.admin ? router.adminUrl() : router.url())) {
      for (int i = 0; i < 2; i++) {
        assertEffect(effect, kept, false);
        router.change(without, with);
        assertEffect(effect, kept, true);
        router.change(/* before= */ with, /* next= */ without);
      }
      assertEffect(effect, kept, false);
    }
  }

  private static void assertEffect(Effect effect, Kept kept, boolean expected) throws IOException {
    Reply reply = kept.call(effect.method, effect.path, effect.body);
    assertThat(reply.status).as(reply.body).isEqualTo(expected ? effect.with : effect.without);
    if (!effect.shown.isEmpty()) {
      assertThat(reply.body.contains(effect.shown)).as(reply.body).isEqualTo(expected);
    }
  }

  @Test
  void aRouterThatStartsWithoutItsPathsGetsThem() throws Exception {
    PointsmanConfig without =
        config(
            """
            admin: {port: 0, enabled: false}
            decide: {enabled: false}
            metrics: {port: 0, enabled: false}
            """);
    PointsmanConfig with = config("decide: {max-leases: 1}\n");
    Router router = started(without);
    assertThat(router.metricsUrl()).isNull();
    try (Kept kept = Kept.to(router.adminUrl())) {
      assertThat(kept.call("GET", "/workers", "").status).isEqualTo(404);

      router.change(without, with);

      assertThat(kept.call("GET", "/workers", "").status).isEqualTo(200);
      assertThat(kept.call("POST", "/v1/decide", QUESTION).status).isEqualTo(200);
      Reply second = kept.call("POST", "/v1/decide", QUESTION);
      assertThat(second.status).isEqualTo(503);
      assertThat(second.body).contains("too_many_leases");
      try (Kept metrics = Kept.to(String.valueOf(router.metricsUrl()))) {
        assertThat(metrics.call("GET", "/metrics", "").body)
            .contains("pointsman_external_leases_refused_total 1");
      }
    }
  }

  @Test
  void leasesOutliveTheServiceAndALowerLimit() throws Exception {
    PointsmanConfig on = config("");
    PointsmanConfig off = config("decide: {enabled: false}\n");
    PointsmanConfig few = config("decide: {max-leases: 2}\n");
    Router router = started(on);
    try (Kept kept = Kept.to(router.adminUrl())) {
      List<String> leases = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        leases.add(lease(kept.call("POST", "/v1/decide", QUESTION)));
      }
      router.change(on, off);
      assertThat(settled(kept, leases.getFirst())).isEqualTo(404);
      assertThat(router.inFlight()).isEqualTo(4);
      router.change(/* before= */ off, /* next= */ few);
      assertThat(kept.call("POST", "/v1/decide", QUESTION).status).isEqualTo(503);
      assertThat(router.inFlight()).isEqualTo(4);
      for (String lease : leases) {
        assertThat(settled(kept, lease)).isEqualTo(200);
      }
      assertThat(router.inFlight()).isZero();
      assertThat(kept.call("POST", "/v1/decide", QUESTION).status).isEqualTo(200);
    }
  }

  private static String lease(Reply reply) {
    assertThat(reply.status).as(reply.body).isEqualTo(200);
    return reply.body.replaceFirst("(?s).*\"lease\"\\s*:\\s*\"([^\"]+)\".*", "$1");
  }

  private static int settled(Kept kept, String lease) throws IOException {
    return kept.call("POST", "/v1/leases/" + lease + "/settle", "{\"outcome\":\"succeeded\"}")
        .status;
  }

  @Test
  void theMetricsPortClosesAndCountersContinue() throws Exception {
    String names = "vllm-router-names: true, like-production-stack: true";
    PointsmanConfig on = config("metrics: {port: 0, " + names + "}\n");
    PointsmanConfig off = config("metrics: {port: 0, enabled: false, " + names + "}\n");
    Router router = started(on);
    String first = String.valueOf(router.metricsUrl());
    try (Kept client = Kept.to(router.url());
        Kept scraper = Kept.to(first)) {
      assertThat(client.call("POST", "/v1/chat/completions", HI).status).isEqualTo(200);
      Await.until("counted", () -> requests(router) == 1);
      assertThat(scraper.call("GET", "/metrics", "").body)
          .contains("vllm_router_generate_duration_seconds_count 1\n");

      router.change(on, off);

      assertThat(router.metricsUrl()).isNull();
      scraper.socket.setSoTimeout(60_000);
      assertThat(scraper.in.read()).as("the connection has ended").isEqualTo(-1);
      assertThatThrownBy(() -> Kept.to(first)).isInstanceOf(ConnectException.class);
      assertThat(client.call("POST", "/v1/chat/completions", HI).status).isEqualTo(200);

      router.change(/* before= */ off, /* next= */ on);

      Await.until("counted on", () -> requests(router) == 2);
      String page = page(router);
      assertThat(page)
          .contains("vllm_router_generate_duration_seconds_count 0\n")
          .contains("vllm_router_requests_total{route=\"/v1/chat/completions\"} 2");
      assertThat(client.call("POST", "/v1/chat/completions", HI).status).isEqualTo(200);
      Await.until("counted again", () -> requests(router) == 3);
      assertThat(page(router)).contains("vllm_router_generate_duration_seconds_count 1\n");
    }
  }

  private static String page(Router router) {
    try (Kept scraper = Kept.to(String.valueOf(router.metricsUrl()))) {
      return scraper.call("GET", "/metrics", "").body;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Number of requests that have ended. */
  private static long requests(Router router) {
    return page(router)
        .lines()
        .filter(line -> line.startsWith("pointsman_requests_total{"))
        .mapToLong(line -> Math.round(Double.parseDouble(line.substring(line.indexOf("} ") + 2))))
        .sum();
  }

  /** All keys of the admin listener in one change, in both directions. */
  @Test
  void theAdminListenerChangesAsAWholeAndIsNeverOpenWithoutTheKey() throws Exception {
    TestCertificate own = TestCertificate.make(directory, "admin", "ip:127.0.0.1");
    PointsmanConfig off = config("admin: {port: 0, enabled: false}\n");
    PointsmanConfig on =
        config(
            "admin: {port: %d, enabled: true, api-key: k1}\n".formatted(FreePorts.next())
                + "admin-tls: {certificate-file: '%s', key-file: '%s'}\n"
                    .formatted(own.certificate(), own.key()));
    Router router = started(off);
    String first = router.adminUrl();
    AtomicBoolean over = new AtomicBoolean();
    Map<String, Integer> seen = new ConcurrentHashMap<>();
    List<Thread> intruders = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      intruders.add(Thread.ofVirtual().start(() -> intrude(router, over, seen)));
    }
    try (Kept kept = Kept.to(first)) {
      assertThat(kept.call("GET", "/activity", "").status).isEqualTo(404);
      for (int i = 0; i < 10; i++) {
        router.change(off, on);
        assertThat(router.adminUrl()).startsWith("https://").isNotEqualTo(first);
        assertThat(secured(router, own, "")).isEqualTo(401);
        assertThat(secured(router, own, "k1")).isEqualTo(200);
        if (i == 0) {
          // The old connection is in clear text.
          kept.socket.setSoTimeout(60_000);
          assertThat(kept.in.read()).as("the connection has ended").isEqualTo(-1);
        }
        router.change(/* before= */ on, /* next= */ off);
      }
    } finally {
      over.set(true);
      for (Thread each : intruders) {
        each.join();
      }
    }
    assertThat(seen.keySet()).contains("404").doesNotContain("200");
  }

  /** Calls a path of the worker API without the key, on connections that it keeps. */
  private static void intrude(Router router, AtomicBoolean over, Map<String, Integer> seen) {
    while (!over.get()) {
      try (Kept kept = Kept.to(router.adminUrl())) {
        kept.socket.setSoTimeout(10_000);
        boolean open = true;
        while (open && !over.get()) {
          kept.send("GET", "/activity", "", "");
          Reply reply = kept.read();
          open = reply != null;
          if (reply != null) {
            seen.merge(String.valueOf(reply.status), 1, Integer::sum);
          }
        }
      } catch (IOException | RuntimeException _) {
        // The listener has moved, or asks for TLS.
      }
    }
  }

  private static int secured(Router router, TestCertificate trusted, String key) throws Exception {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    KeyStore store = trusted.store();
    known.setCertificateEntry("known", store.getCertificate(store.aliases().nextElement()));
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    int port = URI.create(router.adminUrl()).getPort();
    try (Kept kept =
        new Kept(context.getSocketFactory().createSocket(InetAddress.getLoopbackAddress(), port))) {
      kept.send("GET", "/activity", key, "");
      Reply reply = kept.read();
      return reply == null ? -1 : reply.status;
    }
  }

  @Test
  void fiftyChangesBackAndForthLeaveNothingBehindAndCutNoStream() throws Exception {
    PointsmanConfig one = config("");
    PointsmanConfig two =
        config(
            """
            admin:
              {port: 0, enabled: false, stack-endpoints: true, refused-paths: [/x], ray-application: a}
            models: {merged: false}
            decide: {enabled: false, max-leases: 7}
            metrics: {port: 0, enabled: false}
            """);
    PointsmanConfig three =
        config(
            """
            admin: {port: 0, stack-endpoints: true}
            decide: {max-leases: 100000}
            metrics: {port: 0, vllm-router-names: true, like-production-stack: true}
            """);
    Router router = started(one);
    // Parts that are made once stay.
    router.change(one, three);
    router.change(/* before= */ three, /* next= */ one);
    // Some families begin with their first event.
    assertThat(chat(router)).isEqualTo(200);
    List<String> families = families(router);
    assertThat(families).isNotEmpty().doesNotHaveDuplicates();
    List<Kept> streams = new ArrayList<>();
    try (Kept client = Kept.to(router.url())) {
      for (int i = 0; i < 8; i++) {
        Kept stream = Kept.to(router.url());
        streams.add(stream);
        stream.send("POST", "/v1/chat/completions", "", STREAM);
        assertThat(stream.untilLine("data: begun")).startsWith("HTTP/1.1 200 ");
      }
      Residue residue = Residue.now();
      for (int i = 0; i < 50; i++) {
        PointsmanConfig other = i % 2 == 0 ? two : three;
        router.change(one, other);
        assertThat(client.call("POST", "/v1/chat/completions", HI).status).isEqualTo(200);
        if (other.equals(three)) {
          assertThat(families(router))
              .doesNotHaveDuplicates()
              .containsAll(families)
              .contains("vllm_router_active_workers", "vllm:num_requests_running");
        }
        router.change(/* before= */ other, /* next= */ one);
      }
      residue.verify();
      assertThat(families(router)).isEqualTo(families);
      streamEnds.countDown();
      for (Kept stream : streams) {
        assertThat(stream.untilLine("data: [DONE]")).endsWith("data: [DONE]\n");
      }
    } finally {
      for (Kept stream : streams) {
        stream.close();
      }
    }
  }

  private static int chat(Router router) throws IOException {
    try (Kept kept = Kept.to(router.url())) {
      return kept.call("POST", "/v1/chat/completions", HI).status;
    }
  }

  /** The names on the page of metrics, in order. */
  private static List<String> families(Router router) {
    try (Stream<String> lines = page(router).lines()) {
      return lines
          .filter(line -> line.startsWith("# TYPE "))
          .map(line -> line.split(" ", -1)[2])
          .toList();
    }
  }
}
