package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.pointsman.app.embed.Pointsman;
import io.pointsman.app.haproxy.HaproxyPlane;
import io.pointsman.app.haproxy.HaproxySettings;
import io.pointsman.app.wiring.Router;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.Crowd;
import io.pointsman.it.support.RawClient;
import io.pointsman.sim.SimConfig;
import io.pointsman.sim.SimEngine;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A real HAProxy that a router decides for, in front of simulated engines. */
@Timeout(300)
final class HaproxyPlaneTest {
  private static final int ENGINES = 8;
  private static final String MODEL = "sim";

  private final List<SimEngine> engines = new ArrayList<>();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private int routerPort;

  @BeforeEach
  void haproxyIsInstalled() throws IOException {
    assumeThat(
            Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(path -> new File(path, "haproxy").canExecute()))
        .as("haproxy on the PATH")
        .isTrue();
    try (ServerSocket free = new ServerSocket(0)) {
      routerPort = free.getLocalPort();
    }
    for (int i = 0; i < ENGINES; i++) {
      engine();
    }
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  private SimEngine engine() {
    SimEngine engine = SimEngine.start(SimConfig.instant().withModels(MODEL));
    engines.add(engine);
    opened.add(engine);
    return engine;
  }

  private Router router(String policy) {
    Pointsman.Builder builder =
        Pointsman.builder()
            .policy(policy)
            .set("listen.port", Integer.toString(routerPort))
            .set("metrics.enabled", "false")
            .set("drain-timeout", "0s");
    engines.forEach(engine -> builder.worker(engine.url()));
    Router router = builder.startRouter();
    opened.add(router);
    Await.until(
        "workers healthy",
        Await.LONG,
        () ->
            router.fleet().snapshot().workers().stream()
                .allMatch(w -> w.health().healthy() && !w.models().isEmpty()));
    return router;
  }

  private int haproxy() throws IOException {
    HaproxyPlane plane =
        HaproxyPlane.start(
            HaproxySettings.of(
                InetSocketAddress.createUnresolved("127.0.0.1", 0),
                URI.create("http://127.0.0.1:" + routerPort)));
    opened.add(plane);
    int port = URI.create(plane.url()).getPort();
    Await.until(
        () -> "HAProxy serves: " + plane.output(),
        Await.LONG,
        () -> plane.workers() == engines.size() && healthy(port));
    return port;
  }

  /** Whether decided requests land where they were decided to. */
  private static boolean healthy(int port) {
    try {
      Answer answer = RawClient.call(port, "POST", "/v1/completions", completion("up?"));
      return answer.status() == 200 && answer.header("x-pointsman-worker") != null;
    } catch (IOException e) {
      return false;
    }
  }

  private static String completion(String prompt) {
    return "{\"model\":\"%s\",\"max_tokens\":4,\"prompt\":\"%s\"}".formatted(MODEL, prompt);
  }

  private static Answer send(int port, String body, String... headers) throws IOException {
    try (RawClient client = RawClient.connect(port)) {
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      return client.send("POST", "/v1/completions", bytes, List.of(headers)).read();
    }
  }

  private long served(String worker) {
    return engines.stream()
        .filter(engine -> WorkerSpec.idOf(engine.url()).equals(worker))
        .mapToLong(engine -> engine.state().requests().served())
        .sum();
  }

  private static int inFlight(Router router) {
    return router.fleet().snapshot().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  @Test
  void requestsLandWhereTheyWereDecidedAndAreCountedBack() throws Exception {
    Router router = router("round_robin");
    int port = haproxy();
    for (int i = 0; i < 40; i++) {
      List<Long> before = engines.stream().map(e -> e.state().requests().served()).toList();
      Answer answer = send(port, completion("number " + i));
      assertThat(answer.status()).isEqualTo(200);
      String worker = String.valueOf(answer.header("x-pointsman-worker"));
      int index = engines.indexOf(engineAt(worker));
      Await.until(
          "served by " + worker,
          Await.LONG,
          () -> engines.get(index).state().requests().served() > before.get(index));
    }

    Await.until(() -> "counted back: " + inFlight(router), Await.LONG, () -> inFlight(router) == 0);
    assertThat(router.fleet().snapshot().workers()).allMatch(worker -> worker.served() >= 5);
    assertThat(router.fleet().snapshot().workers()).allMatch(worker -> worker.failures() == 0);
  }

  private SimEngine engineAt(String worker) {
    return engines.stream()
        .filter(engine -> WorkerSpec.idOf(engine.url()).equals(worker))
        .findFirst()
        .orElseThrow();
  }

  @Test
  void aSessionStaysOnOneWorkerAndClientsCannotSayWhatOnlyTheRouterSays() throws Exception {
    router("consistent_hash");
    int port = haproxy();
    Set<String> all = new HashSet<>();
    for (int session = 0; session < 20; session++) {
      Set<String> workers = new HashSet<>();
      for (int i = 0; i < 5; i++) {
        Answer answer =
            send(
                port,
                completion("turn " + i),
                "X_Session_ID: s" + session,
                "x-pointsman-hold: 1",
                "x-serve-request-path: /nowhere");
        assertThat(answer.status()).isEqualTo(200);
        workers.add(String.valueOf(answer.header("x-pointsman-worker")));
      }
      assertThat(workers).hasSize(1);
      all.addAll(workers);
    }
    assertThat(all).hasSizeGreaterThan(3);
  }

  @Test
  void theAnswersBytesAreThoseOfTheEngineAndRefusalsThoseOfTheRouter() throws Exception {
    router("cache_aware");
    int port = haproxy();
    String stream =
        "{\"model\":\"%s\",\"max_tokens\":64,\"stream\":true,\"prompt\":\"tell me\"}"
            .formatted(MODEL);

    Answer answer = send(port, stream);

    assertThat(answer.complete()).isTrue();
    assertThat(answer.text()).endsWith("data: [DONE]\n\n");
    assertThat(answer.text().split("data: ", -1).length).isGreaterThan(60);
    Answer unknown = send(port, "{\"model\":\"nobody\",\"prompt\":\"x\"}");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.text()).contains("model_not_found");
    String large = completion("large ".repeat(500_000));
    assertThat(send(port, large).header("x-pointsman-worker"))
        .isEqualTo(send(port, large).header("x-pointsman-worker"));
  }

  @Test
  void withoutTheRouterHaproxyBalancesAndWithItRoutesAgain() throws Exception {
    Router first = router("round_robin");
    int port = haproxy();

    first.close();
    for (int i = 0; i < 30; i++) {
      Answer answer = send(port, completion("alone " + i));
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isNull();
    }

    router("round_robin");
    Await.until("routing resumes", Await.LONG, () -> healthy(port));
  }

  @Test
  void workersComeAndGoUnderLoadWithoutAFailedRequest() throws Exception {
    Router router = router("least_load");
    int port = haproxy();
    SimEngine late = SimEngine.start(SimConfig.instant().withModels(MODEL));
    opened.add(late);
    AtomicBoolean running = new AtomicBoolean(true);
    Callable<Integer> client =
        () -> {
          int sent = 0;
          while (running.get()) {
            Answer answer = send(port, completion("load " + sent++));
            assertThat(answer.status()).isEqualTo(200);
          }
          return sent;
        };
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      List<Future<Integer>> clients = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        clients.add(threads.submit(client));
      }
      router.fleet().add(WorkerSpec.of(late.url()).withModels(Set.of(MODEL)));
      Await.until("the new one serves", Await.LONG, () -> late.state().requests().served() > 20);
      router.fleet().remove(WorkerSpec.idOf(engines.getFirst().url()));
      Await.until(
          "the old one is left alone",
          Await.LONG,
          () -> {
            long before = served(WorkerSpec.idOf(engines.getFirst().url()));
            long others = late.state().requests().served();
            Await.until(
                "others serve", Await.LONG, () -> late.state().requests().served() > others + 20);
            return served(WorkerSpec.idOf(engines.getFirst().url())) == before;
          });
      running.set(false);
      for (Future<Integer> each : clients) {
        assertThat(each.get()).isPositive();
      }
    } finally {
      running.set(false);
    }
  }

  @Test
  void cachesHitAsOftenAsBehindTheBuiltInProxy() throws Exception {
    router("cache_aware");
    int port = haproxy();
    double through = hitRate(port);
    double proxied = hitRate(routerPort);

    assertThat(through).isGreaterThan(0.5);
    assertThat(through).isGreaterThan(proxied - 0.02);
  }

  /** Of conversations that nobody had before, eight at a time. */
  private double hitRate(int port) throws Exception {
    long queries = tokens(true);
    long hits = tokens(false);
    List<Integer> statuses =
        Crowd.of(
            40,
            8,
            i ->
                () -> {
                  String text = "port " + port + " conversation " + i + " ";
                  for (int turn = 0; turn < 5; turn++) {
                    text += ("turn " + turn + " goes on ").repeat(40);
                    int status = send(port, completion(text)).status();
                    if (status != 200) {
                      return status;
                    }
                  }
                  return 200;
                });
    assertThat(statuses).allMatch(status -> status == 200);
    return (double) (tokens(false) - hits) / (tokens(true) - queries);
  }

  private long tokens(boolean queries) {
    return engines.stream()
        .map(engine -> engine.state().tokens())
        .mapToLong(tokens -> queries ? tokens.cacheQueries() : tokens.cacheHits())
        .sum();
  }
}
