package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.SilentPort;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.sim.SimEngine;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** A proxy while routers and workers stop and start, and while streams outlast their leases. */
@Execution(ExecutionMode.CONCURRENT)
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneFailuresTest {
  private static final RawEngine.Script ANSWER =
      (_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'}));

  private final PlaneRig rig;

  PlaneFailuresTest(PlaneRig.Way way) {
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  /** Clients that send requests one after the other and expect status 200 for each. */
  private final class Clients implements AutoCloseable {
    private final AtomicBoolean running = new AtomicBoolean(true);
    private final AtomicInteger pinned = new AtomicInteger();
    private final AtomicInteger alone = new AtomicInteger();
    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final List<Future<Integer>> ends = new ArrayList<>();

    Clients() {
      for (int i = 0; i < 4; i++) {
        ends.add(threads.submit(this::run));
      }
    }

    private int run() throws IOException {
      int sent = 0;
      while (running.get()) {
        HttpAnswer answer = rig.send(completion("load " + sent++));
        assertThat(answer.status()).as("%s", answer.text()).isEqualTo(200);
        (answer.header("x-pointsman-worker") == null ? alone : pinned).incrementAndGet();
      }
      return sent;
    }

    void awaitMore(AtomicInteger kind) {
      int before = kind.get();
      WaitFor.until(
          () -> "more requests: " + pinned + " pinned, " + alone + " alone",
          WaitFor.LONG,
          () -> kind.get() > before + 40 || ends.stream().anyMatch(Future::isDone));
    }

    /** Stops the clients; fails if one request failed. */
    void verify() throws Exception {
      running.set(false);
      for (Future<Integer> each : ends) {
        assertThat(each.get()).isPositive();
      }
    }

    @Override
    public void close() {
      running.set(false);
      threads.close();
    }
  }

  @Test
  void withoutTheRouterTrafficContinuesAndWithItIsRoutedAgain() throws Exception {
    rig.engines(4);
    RouterProcess router = rig.routerProcess("round_robin");
    rig.carrier(Duration.ofSeconds(5));
    try (Clients clients = new Clients()) {
      clients.awaitMore(clients.pinned);
      router.kill();
      clients.awaitMore(clients.alone);
      // The proxy's own choice depends on the requests that other clients have in flight.
      Set<String> engines = new HashSet<>();
      WaitFor.until(
          () -> "all four serve: " + engines,
          WaitFor.LONG,
          () -> {
            engines.add(engineAlone());
            return engines.size() == 4;
          });

      rig.routerProcess("round_robin");
      rig.awaitPinned();
      clients.awaitMore(clients.pinned);
      clients.verify();
    }
    rig.awaitNoLoad();
  }

  /** The engine of a request that the proxy placed without a router. */
  private String engineAlone() {
    try {
      HttpAnswer answer = rig.send(completion("alone"));
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isNull();
      return String.valueOf(answer.header("x-engine-id"));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** An engine with requests that last until the latch opens. */
  private static RawEngine.Script held(CountDownLatch end) {
    return (request, out) -> {
      if (new String(request.body(), StandardCharsets.UTF_8).contains("held")) {
        write(out, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nbegin\r\n");
        await(end);
        write(out, "3\r\nend\r\n0\r\n\r\n");
      } else {
        out.write(RawEngine.answer("text/plain", new byte[] {'!'}));
      }
    };
  }

  private static void write(OutputStream out, String text) throws IOException {
    out.write(text.getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      if (!latch.await(2 * WaitFor.LONG.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("not let go on");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @Test
  void withoutTheRouterTheLeastBusyWorkerServes() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    RawEngine one = rig.scripted(held(end));
    RawEngine other = rig.scripted(held(end));
    RouterProcess router = rig.routerProcess("round_robin");
    rig.carrier();
    router.kill();
    try (RawClient busy = RawClient.connect(rig.port())) {
      busy.send("POST", "/v1/completions", completion("held"));
      HttpAnswer.Head head = busy.readHead();
      RawEngine idle = one.inFlight() > 0 ? other : one;
      // A proxy may count the last request slightly longer than its client does.
      WaitFor.until("nearly all go to the idle one", WaitFor.LONG, () -> shareOf(20, idle) >= 18);
      end.countDown();
      assertThat(busy.readBody(head).text()).isEqualTo("beginend");
    } finally {
      end.countDown();
    }
  }

  /** Number of these requests that the engine got. */
  private int shareOf(int requests, RawEngine engine) {
    int before = engine.received().size();
    try {
      for (int i = 0; i < requests; i++) {
        assertThat(rig.send(completion("short " + i)).status()).isEqualTo(200);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return engine.received().size() - before;
  }

  @Test
  void workersComeAndGoUnderLoadWithoutAFailedRequest() throws Exception {
    rig.engines(4);
    CountDownLatch end = new CountDownLatch(1);
    Router router = rig.router("least_load");
    rig.carrier();
    SimEngine late = rig.engine(UnaryOperator.identity());
    RawEngine leaving = rig.opened(RawEngine.start("other", held(end)));
    WorkerSpec held = WorkerSpec.of(leaving.url()).withModels(Set.of("other"));
    try (Clients clients = new Clients();
        RawClient stream = RawClient.connect(rig.port())) {
      router.fleet().add(PlaneRig.known(late.url()));
      router.fleet().add(held);
      WaitFor.until(
          "the new one serves", WaitFor.LONG, () -> late.state().requests().served() > 20);
      WaitFor.until("a request is pinned", WaitFor.LONG, () -> landsOn("other", held.id()));

      stream.send("POST", "/v1/completions", "{\"model\":\"other\",\"prompt\":\"held\"}");
      HttpAnswer.Head head = stream.readHead();
      router.fleet().remove(held.id());
      router.fleet().remove(WorkerSpec.idOf(rig.engines().getFirst().url()));
      SimEngine first = rig.engines().getFirst();
      WaitFor.until(
          "the old one is left alone",
          WaitFor.LONG,
          () -> {
            long before = first.state().requests().served();
            clients.awaitMore(clients.pinned);
            return first.state().requests().served() == before;
          });
      clients.verify();
      end.countDown();
      assertThat(stream.readBody(head).text()).isEqualTo("beginend");
    } finally {
      end.countDown();
    }
    WaitFor.until("counted back", WaitFor.LONG, () -> router.inFlight() == 0);
  }

  @Test
  void workersThatTheProxyCannotServeDelayNoOther() throws Exception {
    rig.engines(1);
    Router router = rig.router("round_robin");
    rig.carrier();
    // A DNS label cannot be this long, so no resolver is queried.
    router.fleet().add(PlaneRig.known("http://" + "x".repeat(70) + ":8000"));
    router.fleet().add(PlaneRig.known("https://127.0.0.1:9"));
    SimEngine late = rig.engine(UnaryOperator.identity());
    WorkerSpec added = PlaneRig.known(late.url());
    router.fleet().add(added);

    WaitFor.until("the late one is pinned", WaitFor.LONG, () -> landsOn("sim", added.id()));
    rig.awaitNoLoad();
  }

  private boolean landsOn(String model, String worker) {
    try {
      HttpAnswer answer = rig.send("{\"model\":\"%s\",\"prompt\":\"x\"}".formatted(model));
      return worker.equals(answer.header("x-pointsman-worker"));
    } catch (IOException e) {
      return false;
    }
  }

  private void assertNobodyCanServe() throws IOException {
    for (int i = 0; i < 3; i++) {
      HttpAnswer answer = rig.send(completion("x"));
      assertThat(answer.status()).as("%s", answer.text()).isEqualTo(503);
      assertThat(answer.header("content-type")).isEqualTo("application/json");
      assertThat(answer.header("retry-after")).isEqualTo("1");
      assertThat(answer.text())
          .isEqualTo(
              "{\"error\":{\"message\":\"no worker is available at the moment\","
                  + "\"type\":\"server_error\",\"param\":null,\"code\":\"none_available\"}}");
    }
    HttpAnswer ofAnthropic = rig.sendMessage(completion("x"));
    assertThat(ofAnthropic.status()).isEqualTo(503);
    assertThat(ofAnthropic.header("content-type")).isEqualTo("application/json");
    assertThat(ofAnthropic.header("retry-after")).isEqualTo("1");
    assertThat(ofAnthropic.text())
        .isEqualTo(
            "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                + "\"message\":\"no worker is available at the moment\"}}");
    assertThat(rig.sendMessageEncoded(completion("x")).text()).isEqualTo(ofAnthropic.text());
  }

  /** The worker takes the request, and ends the connection. */
  @Test
  void anEngineThatBreaksOffIsAnErrorOfTheApi() throws Exception {
    rig.scripted(
        (request, out) -> {
          if (new String(request.body(), StandardCharsets.UTF_8).contains("breaks")) {
            throw new IOException("the connection ends");
          }
          ANSWER.answer(request, out);
        });
    rig.router("round_robin");
    rig.carrier();

    HttpAnswer answer = rig.send(completion("breaks"));
    HttpAnswer ofAnthropic = rig.sendMessage(completion("breaks"));

    assertThat(answer.status()).isEqualTo(502);
    assertThat(answer.text())
        .isEqualTo(
            "{\"error\":{\"message\":\"no worker has answered\",\"type\":\"server_error\","
                + "\"param\":null,\"code\":\"upstream_error\"}}");
    assertThat(ofAnthropic.status()).isEqualTo(502);
    assertThat(ofAnthropic.text())
        .isEqualTo(
            "{\"type\":\"error\",\"error\":{\"type\":\"api_error\","
                + "\"message\":\"no worker has answered\"}}");
    rig.awaitNoLoad();
  }

  @Test
  void withoutAWorkerClientsGetRetryAfter() throws Exception {
    rig.carrierAlone();
    assertNobodyCanServe();
  }

  @Test
  void afterTheLastWorkersDeathClientsGetRetryAfter() throws Exception {
    RawEngine last = rig.scripted(ANSWER);
    Router router = rig.router("round_robin");
    rig.carrier();
    rig.awaitNoLoad();
    last.close();
    assertNobodyCanServe();
    rig.awaitNoLoad();
    WaitFor.until(
        "the router knows",
        WaitFor.LONG,
        () -> !router.fleet().snapshot().workers().getFirst().health().healthy());
  }

  @Test
  void drainingLastWorkersGetNoMoreRequests() throws Exception {
    rig.engines(2);
    Router router = rig.router("round_robin");
    rig.carrier();
    List<Worker> workers = router.fleet().snapshot().workers();
    workers.forEach(worker -> worker.drain(true));

    // The router knows it at once, the proxy a quarter of a second later.
    WaitFor.until("they are left alone", WaitFor.LONG, this::nobodyServesForAWhile);
    assertNobodyCanServe();

    workers.forEach(worker -> worker.drain(false));
    rig.awaitPinned();
    rig.awaitNoLoad();
  }

  private boolean nobodyServesForAWhile() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    while (System.nanoTime() < end) {
      if (statusOfNext() != 503) {
        return false;
      }
    }
    return true;
  }

  private int statusOfNext() {
    try {
      return rig.send(completion("next")).status();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A request would find a kept connection broken, and its client would get 502. */
  private RawEngine closingEngine() throws IOException {
    return rig.scripted(
        (_, out) ->
            out.write(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
                    .getBytes(StandardCharsets.US_ASCII)));
  }

  @Test
  void aWorkerThatDidNotAnswerIsNotInTheHeader() throws Exception {
    RawEngine dead = closingEngine();
    RawEngine alive = rig.scripted(ANSWER);
    // The router learns of its end only by requests sent there, and from a proxy with a key.
    rig.keys("", "plane-key");
    Router router =
        rig.router("round_robin", "health.interval", "1h", "decide.api-key", "plane-key");
    AutoCloseable carrier = rig.carrier();
    dead.close();

    assertOthersServeAndAreNamed(router, alive, carrier);
  }

  @Test
  void aWorkerWithAMissingHostIsReplacedAndNotInTheHeader() throws Exception {
    RawEngine dead = closingEngine();
    RawEngine alive = rig.scripted(ANSWER);
    rig.keys("", "plane-key");
    Router router =
        rig.router("round_robin", "health.interval", "1h", "decide.api-key", "plane-key");
    AutoCloseable carrier = rig.carrier();
    dead.close();
    rig.opened(SilentPort.at(URI.create(dead.url()).getPort()));

    assertOthersServeAndAreNamed(router, alive, carrier);
  }

  private void assertOthersServeAndAreNamed(Router router, RawEngine alive, AutoCloseable carrier)
      throws IOException {
    List<String> named = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      HttpAnswer answer = rig.send(completion("x"));
      assertThat(answer.status())
          .as(() -> answer.text() + " " + PlaneRig.output(carrier))
          .isEqualTo(200);
      named.add(String.valueOf(answer.header("x-pointsman-worker")));
    }

    assertThat(named).contains("null").isSubsetOf("null", WorkerSpec.idOf(alive.url()));
    WaitFor.until("the router knows of the other", WaitFor.LONG, () -> failures(router) > 0);
  }

  /** Leases are renewed each second, and the streams outlast the test. */
  @Test
  void continuingStreamsRestoreARecoveredWorker() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    rig.scripted(held(end));
    Router router =
        rig.router("round_robin", "breaker.open-for", "1s", "breaker.max-ejected-share", "1");
    rig.carrier(Duration.ofSeconds(3));
    rig.awaitNoLoad();
    Worker worker = router.fleet().snapshot().workers().getFirst();
    for (int i = 0; i < 10; i++) {
      requireNonNull(worker.tryLease(System.nanoTime(), 0, 0, (_, _) -> {})).failed(Failure.ERROR);
    }
    assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
    try {
      WaitFor.until(
          () -> "closed: " + worker.breaker().state(),
          WaitFor.LONG,
          () -> {
            begin();
            WaitFor.pause(500);
            return worker.breaker().state() == State.CLOSED;
          });
    } finally {
      end.countDown();
    }
  }

  private void begin() {
    try {
      RawClient stream = rig.opened(RawClient.connect(rig.port()));
      stream.send("POST", "/v1/completions", completion("held")).readHead();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** The situation behind launchers for systems without a worker API. */
  @Test
  void aFleetWithoutAWorkerApiIsFollowedToo() throws Exception {
    rig.engines(2);
    Router router = rig.router("round_robin", "admin.enabled", "false");
    rig.carrier();
    WaitFor.until(
        "the fleet is known",
        WaitFor.LONG,
        () -> {
          try {
            return PlaneRig.get(rig.port(), "/v1/models").status() == 200;
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });

    router.close();
    for (int i = 0; i < 10; i++) {
      assertThat(rig.send(completion("alone " + i)).status()).isEqualTo(200);
    }
  }

  /** Most engines close idle connections after 5 s, which a request may meet. */
  @Test
  void connectionsAreClosedBeforeEnginesCloseThem() throws Exception {
    RawEngine engine = rig.scripted(ANSWER);
    rig.router("round_robin", "health.interval", "1h");
    rig.carrier();
    try (RawClient client = RawClient.connect(rig.port())) {
      assertClosesSoon(
          engine,
          () -> {
            for (int i = 0; i < 3; i++) {
              client.send("POST", "/v1/completions", completion("x"));
              assertThat(client.read().status()).isEqualTo(200);
            }
          });
    }
  }

  private interface Use {
    void once() throws Exception;
  }

  /**
   * One attempt of 4 s must succeed: after 5 s an engine may close the connection itself. A busy
   * machine may delay an attempt, so they repeat for up to 60 s.
   */
  private static void assertClosesSoon(RawEngine engine, Use use) throws Exception {
    long start = System.nanoTime();
    while (System.nanoTime() - start < TimeUnit.SECONDS.toNanos(60)) {
      use.once();
      long begin = System.nanoTime();
      while (System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(4)) {
        if (engine.connections() == 0) {
          return;
        }
        WaitFor.pause(5);
      }
    }
    throw new AssertionError("open 4 s after each use, for 60 s: " + engine.connections());
  }

  @Test
  void connectionsOfABurstAreClosedEarlyToo() throws Exception {
    int burst = 64;
    CountDownLatch all = new CountDownLatch(burst);
    RawEngine engine =
        rig.scripted(
            (request, out) -> {
              if (new String(request.body(), StandardCharsets.US_ASCII).contains("burst")) {
                all.countDown();
                awaitAll(all);
              }
              ANSWER.answer(request, out);
            });
    rig.router("round_robin", "health.interval", "1h");
    rig.carrier();
    assertClosesSoon(engine, () -> sendAtOnce(burst));
  }

  private void sendAtOnce(int burst) throws Exception {
    List<HttpAnswer> answers =
        ConcurrentClients.of(burst, _ -> () -> rig.send(completion("burst")));
    assertThat(answers).allMatch(answer -> answer.status() == 200);
  }

  private static void awaitAll(CountDownLatch all) throws IOException {
    try {
      if (!all.await(60, TimeUnit.SECONDS)) {
        throw new IOException("not in flight at once: " + all.getCount() + " are missing");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  /**
   * A busy engine answers probes late. HAProxy's own checks must not be stricter than the router's.
   */
  @Test
  void aWorkerWithSlowProbesCountsAsHealthy() throws Exception {
    RawEngine slow = rig.scripted(ANSWER);
    Router router = rig.router("round_robin", "health.interval", "1h");
    rig.carrier();
    slow.slowToProbes(Duration.ofSeconds(3));

    assertServedFor(Duration.ofSeconds(9));
    assertThat(failures(router)).isZero();
  }

  @Test
  void aWorkerThatOnlyTheProxySeesAsDownIsNotBlamed() throws Exception {
    RawEngine unwell = rig.scripted(ANSWER);
    rig.scripted(ANSWER);
    Router router = rig.router("round_robin", "health.interval", "1h");
    rig.carrier();
    unwell.unwell();

    assertServedFor(Duration.ofSeconds(5));
    assertThat(failures(router)).isZero();
  }

  private void assertServedFor(Duration time) throws IOException {
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < time.toNanos()) {
      HttpAnswer answer = rig.send(completion("x"));
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      WaitFor.pause(50);
    }
    rig.awaitNoLoad();
  }

  private static long failures(Router router) {
    return router.fleet().snapshot().workers().stream().mapToLong(Worker::failures).sum();
  }

  /** The lease lasts 4 s, its stream 9 s. */
  @Test
  void aStreamCountsAsLoadToItsEndWithAShortLease() throws Exception {
    Duration ttl = Duration.ofSeconds(4);
    CountDownLatch end = new CountDownLatch(1);
    rig.scripted(held(end));
    rig.router("least_load");
    rig.carrier(ttl);
    rig.awaitNoLoad();
    try (RawClient stream = RawClient.connect(rig.port())) {
      stream.send("POST", "/v1/completions", completion("held"));
      HttpAnswer.Head head = stream.readHead();
      assertLoadFor(ttl.multipliedBy(9).dividedBy(4));
      end.countDown();
      assertThat(stream.readBody(head).text()).isEqualTo("beginend");
    } finally {
      end.countDown();
    }
    rig.awaitNoLoad();
  }

  private void assertLoadFor(Duration time) {
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < time.toNanos()) {
      assertThat(rig.load()).isEqualTo(1);
      WaitFor.pause(50);
    }
  }

  /**
   * The router permits 6 s, the proxy requests an hour: the lease is renewed in time, but never
   * longer.
   */
  @Test
  void leasesLastAsLongAsTheRouterPermits() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    rig.scripted(held(end));
    rig.router("least_load", "decide.ttl", "6s", "decide.max-ttl", "6s");
    AutoCloseable carrier = rig.carrier(Duration.ofHours(1));
    rig.awaitNoLoad();
    try (RawClient stream = RawClient.connect(rig.port())) {
      stream.send("POST", "/v1/completions", completion("held"));
      stream.readHead();
      assertLoadFor(Duration.ofSeconds(14));
      carrier.close();
      rig.awaitNoLoad();
    } finally {
      end.countDown();
    }
  }

  /** If a worker answered the query with 404, every client would get that. */
  @Test
  void aProxyBalancesItselfWithADisabledDecisionService() throws Exception {
    rig.engines(2);
    rig.router("round_robin", "decide.enabled", "false", "decide.spoe-address", "");
    rig.carrierAlone();
    WaitFor.until("workers are known", WaitFor.LONG, () -> statusOfNext() == 200);

    for (int i = 0; i < 10; i++) {
      HttpAnswer answer = rig.send(completion("alone " + i));
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isNull();
    }
  }

  @Test
  void leasesOfADeadProxyExpire() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    rig.scripted(held(end));
    rig.router("least_load");
    AutoCloseable carrier = rig.carrier(Duration.ofSeconds(3));
    rig.awaitNoLoad();
    try (RawClient stream = RawClient.connect(rig.port())) {
      stream.send("POST", "/v1/completions", completion("held"));
      stream.readHead();
      assertThat(rig.load()).isEqualTo(1);
      carrier.close();
      rig.awaitNoLoad();
    } finally {
      end.countDown();
    }
  }
}
