package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RawEngine.Received;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.io.OutputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** nginx's script with a scripted router: its queries, and its handling of the responses. */
@Timeout(300)
@Tag("full")
final class NginxAskTest {
  /** nginx's timeout for the router. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  private static final byte[] DONE = "{}".getBytes(UTF_8);

  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final CountDownLatch goesOn = new CountDownLatch(1);
  private final Deque<String> named = new ConcurrentLinkedDeque<>();
  private volatile URI worker = URI.create("http://none.invalid:1");

  /** The decision for prompts that want a missing worker; its port refuses connections. */
  private final URI gone = URI.create("http://127.0.0.1:" + FreePorts.next());

  /** Further workers in the router's list. */
  private volatile String others = "";

  /** True if reports of ends get no response. */
  private volatile boolean endsWait;

  private RawEngine router;

  @BeforeEach
  void open() throws IOException {
    assumeThat(NginxProcess.installed()).as("nginx with its Lua module").isTrue();
    router = RawEngine.start(PlaneRig.MODEL, this::route);
    opened.push(router);
  }

  @AfterEach
  void close() throws Exception {
    goesOn.countDown();
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
  }

  /** Answers like a router; a query gets no response if its body asks for that. */
  private void route(Received request, OutputStream out) throws IOException {
    byte[] answer = DONE;
    if (request.line().startsWith("GET /workers ")) {
      answer = ("{\"workers\":[" + known("w", worker, true) + others + "]}").getBytes(UTF_8);
    } else if (request.line().startsWith("POST /internal/route ")) {
      if (text(request).contains("unanswered")) {
        awaitEnd();
        throw new IOException("the test is over");
      }
      Matcher other = Pattern.compile("status (\\d{3})").matcher(text(request));
      if (other.find()) {
        named.add(String.valueOf(request.header("x-pointsman-lease")));
        String head = "HTTP/1.1 %s -\r\ncontent-length: 2\r\n\r\n{}".formatted(other.group(1));
        out.write(head.getBytes(UTF_8));
        return;
      }
      answer = decided(text(request)).getBytes(UTF_8);
    } else if (text(request).contains("succeeded") && endsWait) {
      awaitEnd();
    }
    out.write(RawEngine.answer("application/json", answer));
  }

  private String decided(String prompt) {
    URI at = prompt.contains("gone") ? gone : worker;
    String rank = prompt.contains("ranked") ? "\"X-data-parallel-rank\":\"1\"" : "";
    return "{\"replica_id\":\"w\",\"host\":\"%s\",\"port\":%d,\"lease\":\"1-1\",\"request_headers\":{%s}}"
        .formatted(at.getHost().replaceAll("[\\[\\]]", ""), at.getPort(), rank);
  }

  private static String known(String id, URI url, boolean healthy) {
    return "{\"id\":\"%s\",\"url\":\"%s\",\"worker_type\":\"regular\",\"is_healthy\":%s}"
        .formatted(id, url, healthy);
  }

  private void awaitEnd() {
    try {
      goesOn.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static String text(Received request) {
    return new String(request.body(), UTF_8);
  }

  /** Starts an nginx that knows the worker and is connected to the router. */
  private int nginx() throws IOException {
    return nginx(PATIENCE);
  }

  private int nginx(Duration patience) throws IOException {
    int at = URI.create(router.url()).getPort();
    NginxProcess nginx = NginxProcess.start(at, Duration.ofMinutes(1), patience, "", "");
    opened.push(nginx);
    WaitFor.until(
        () -> "pinned: " + nginx.output(), WaitFor.LONG, () -> pinned(nginx.port(), "first"));
    return nginx.port();
  }

  private static boolean pinned(int port, String prompt) {
    try {
      HttpAnswer answer = PlaneRig.send(port, completion(prompt));
      return answer.status() == 200 && "w".equals(answer.header("x-pointsman-worker"));
    } catch (IOException e) {
      return false;
    }
  }

  private List<String> sent(String line, String part) {
    return router.received().stream()
        .filter(request -> request.line().startsWith(line))
        .map(NginxAskTest::text)
        .filter(body -> body.contains(part))
        .toList();
  }

  private RawEngine engine() throws IOException {
    RawEngine engine = RawEngine.start(PlaneRig.MODEL, this::serve);
    opened.push(engine);
    worker = URI.create(engine.url());
    return engine;
  }

  private void serve(Received request, OutputStream out) throws IOException {
    if (text(request).contains("held")) {
      awaitEnd();
    }
    out.write(RawEngine.answer("application/json", DONE));
  }

  @Test
  void aQueryWithoutATimelyResponseIsNotRepeated() throws Exception {
    engine();
    int port = nginx();

    HttpAnswer answer = PlaneRig.send(port, completion("unanswered"));

    assertThat(answer.status()).as("%s", answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-worker")).as("nginx chose by itself").isNull();
    assertThat(sent("POST /internal/route ", "unanswered")).hasSize(1);
    assertThat(pinned(port, "later")).isTrue();
    WaitFor.until(
        () -> "settled: " + sent("POST /v1/leases/1-1/settle ", ""),
        WaitFor.LONG,
        () -> !sent("POST /v1/leases/1-1/settle ", "succeeded").isEmpty());
  }

  @ParameterizedTest
  @ValueSource(ints = {409, 500, 502, 504})
  void unclearResponsesCauseTheLeasesRelease(int status) throws Exception {
    engine();
    int port = nginx();

    assertThat(PlaneRig.send(port, completion("status 405")).status()).isEqualTo(200);
    HttpAnswer answer = PlaneRig.send(port, completion("status " + status));

    assertThat(answer.status()).as("%s", answer.text()).isEqualTo(200);
    assertThat(answer.header("x-pointsman-worker")).as("nginx chose by itself").isNull();
    WaitFor.until(
        () -> "given back: " + named,
        WaitFor.LONG,
        () -> sent("POST /v1/leases/" + named.getLast() + "/settle ", "ignored").size() == 1);
    assertThat(sent("POST /v1/leases/" + named.getFirst() + "/settle ", ""))
        .as("a router that does not decide holds nothing")
        .isEmpty();
  }

  @Test
  void anIpv6AddressServesWithAndWithoutADecision() throws Exception {
    HttpServer engine;
    try {
      engine = HttpServer.create(new InetSocketAddress(InetAddress.ofLiteral("::1"), 0), 0);
    } catch (BindException _) {
      return; // a machine without IPv6
    }
    engine.createContext(
        "/",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(200, DONE.length);
          exchange.getResponseBody().write(DONE);
          exchange.close();
        });
    engine.start();
    opened.push(() -> engine.stop(0));
    worker = URI.create("http://[::1]:" + engine.getAddress().getPort());
    int port = nginx();

    HttpAnswer answer = PlaneRig.get(port, "/v1/models");

    assertThat(answer.status()).as("nginx chose by itself: %s", answer.text()).isEqualTo(200);
  }

  @Test
  void aDeadWorkerDoesNotReplaceADyingOne() throws Exception {
    RawEngine live = engine();
    URI dead = URI.create("http://127.0.0.1:" + FreePorts.next());
    others = "," + known("gone", gone, true) + "," + known("dead", dead, false);
    int port = nginx();
    try (RawClient busy = RawClient.connect(port)) {
      busy.send("POST", "/v1/completions", completion("held"));
      WaitFor.until("it has more in flight", WaitFor.LONG, () -> live.inFlight() == 1);
      for (int i = 0; i < 6; i++) {
        HttpAnswer answer = PlaneRig.send(port, completion("gone"));
        assertThat(answer.status()).as("%s", answer.text()).isEqualTo(200);
      }
    } finally {
      goesOn.countDown();
    }
  }

  @Test
  void anyWorkerServesIfNoneIsHealthy() throws Exception {
    RawEngine live = RawEngine.start(PlaneRig.MODEL, this::serve);
    opened.push(live);
    engine();
    others = "," + known("live", URI.create(live.url()), false);
    int port = nginx();
    worker = gone;

    WaitFor.until(
        "looked at again",
        WaitFor.LONG,
        () -> status(port, completion("no more")) == 200 && !live.received().isEmpty());
  }

  private static int status(int port, String body) {
    try {
      return PlaneRig.send(port, body).status();
    } catch (IOException e) {
      return -1;
    }
  }

  /** With a body that nginx keeps in memory, and one that it writes to a file. */
  @ParameterizedTest
  @ValueSource(ints = {1, 400_000})
  void aReplacementWorkerDoesNotGetTheOthersRank(int length) throws Exception {
    RawEngine engine = engine();
    int port = nginx();
    String prompt = "ranked " + "x".repeat(length);

    assertThat(PlaneRig.send(port, completion(prompt)).status()).isEqualTo(200);
    assertThat(engine.last().header("x-data-parallel-rank")).isEqualTo("1");

    others = "," + known("gone", gone, true);
    String other = completion("gone, " + prompt);
    assertThat(PlaneRig.send(port, other, "X-Mine: yes").status()).isEqualTo(200);
    assertThat(engine.last().header("x-data-parallel-rank")).isNull();
    assertThat(engine.last().header("x-mine")).isEqualTo("yes");
    assertThat(text(engine.last())).isEqualTo(other);
  }

  /** Requests of one client, so one nginx process reports all of them. */
  @Test
  void endsAreReportedWhileOtherReportsWaitForResponses() throws Exception {
    engine();
    int port = nginx(Duration.ofMinutes(5));
    WaitFor.until("nothing is left to report", WaitFor.LONG, () -> !ends().isEmpty());
    int before = ends().size();
    endsWait = true;
    try (RawClient client = RawClient.connect(port)) {
      for (int i = 0; i < 8; i++) {
        HttpAnswer answer = client.send("POST", "/v1/completions", completion("x")).read();
        assertThat(answer.status()).as("%s", answer.text()).isEqualTo(200);
      }
      WaitFor.until("all are sent", WaitFor.LONG, () -> ends().size() >= before + 8);
    }
  }

  private List<String> ends() {
    return sent("POST /v1/leases/1-1/settle ", "succeeded");
  }
}
