package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.RouterFault;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Reloads of the configuration (SIGHUP) under load. */
@Timeout(180)
@SuppressWarnings("NullAway.Init") // set before each test
final class ReloadTest {
  private static final int CLIENTS = 8;
  private static final int STREAMS = 6;

  @TempDir Path directory;
  private ScriptedEngine first;
  private ScriptedEngine second;
  private ScriptedEngine third;

  /** Opens at the end of the streams. */
  private final CountDownLatch streamsEnd = new CountDownLatch(1);

  @BeforeEach
  void start() throws IOException {
    first = engine();
    second = engine();
    third = engine();
  }

  @AfterEach
  void stop() throws IOException {
    first.close();
    second.close();
    third.close();
  }

  private ScriptedEngine engine() throws IOException {
    return ScriptedEngine.start(
        new Faults.Healthy(
            Cluster.MODEL,
            (request, connection) -> {
              if (isStream(request)) {
                connection.beginEvents().chunk("data: begun\n\n");
                streamsEnd.await();
                connection.chunk("data: more\n\n").chunk("data: [DONE]\n\n").lastChunk();
              } else {
                Faults.Answer.ok().answer(request, connection);
              }
            }));
  }

  private static boolean isStream(EngineRequest request) {
    return request.bodyText().equals(FaultRig.request(true));
  }

  private static long streams(ScriptedEngine engine) {
    return engine.requests().stream().filter(ReloadTest::isStream).count();
  }

  @Test
  @Shows(RouterFault.RELOADED_UNDER_LOAD)
  void workersChangeAndNoClientSeesAFailure() throws Exception {
    Path file = configure("", first, second);
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      Map<String, Integer> seen = new ConcurrentHashMap<>();
      AtomicBoolean over = new AtomicBoolean();
      List<Thread> clients = new ArrayList<>();
      Map<String, Integer> streams = new ConcurrentHashMap<>();
      for (int i = 0; i < STREAMS; i++) {
        clients.add(
            Thread.ofVirtual().start(() -> streams.merge(stream(router.port()), 1, Integer::sum)));
      }
      WaitFor.until(
          () -> "all streams run, ended: " + streams,
          WaitFor.LONG,
          () -> streams(first) + streams(second) == STREAMS);
      assertThat(streams(first)).as("streams of the one to be removed").isPositive();
      for (int i = 0; i < CLIENTS; i++) {
        clients.add(Thread.ofVirtual().start(() -> send(router.port(), over, seen)));
      }
      WaitFor.until("the first serves", WaitFor.LONG, () -> served(first) > 20);
      configure("", second, third);
      router.hangUp();
      WaitFor.until("the third serves", WaitFor.LONG, () -> served(third) > 20);
      long left = served(first);
      long others = served(third);
      WaitFor.until("the others serve on", WaitFor.LONG, () -> served(third) > others + 50);
      assertThat(served(first)).as("requests to the one that was removed").isEqualTo(left);
      over.set(true);
      assertThat(streams).as("streams that have ended").isEmpty();
      streamsEnd.countDown();
      for (Thread client : clients) {
        client.join();
      }
      assertThat(seen.keySet()).containsExactly("200");
      assertThat(streams).isEqualTo(Map.of("done", STREAMS));
      WaitFor.until(
          () -> "connections to the one that was removed: " + first.openConnections(),
          WaitFor.LONG,
          () -> first.openConnections() == 0);
      router.awaitOutput("configuration reloaded");
      router.verify();
    }
  }

  @Test
  @Shows(RouterFault.RELOADED_WITH_MISTAKES)
  @Tag("full")
  void fixedKeysAreRefusedWithTheReasonAndNothingChanges() throws Exception {
    Path file = configure("", first);
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      configure("timeouts: {total: 5s}\nevent-loop-threads: 3\n", second);
      router.hangUp();
      router.awaitOutput(
          "not reloaded, the previous one stays active: event-loop-threads: changed");
      configure("no-such-key: 1\n", second);
      router.hangUp();
      router.awaitOutput("no-such-key");
      assertThat(ask(router.port())).isEqualTo("200");
      assertThat(served(second)).isZero();
      configure("", second);
      router.hangUp();
      WaitFor.until("the second serves", WaitFor.LONG, () -> servesOn(router.port(), second));
      router.verify();
    }
  }

  @Test
  @Tag("full")
  void aReloadChangesTheFormatAndTheFilesOfTheLog() throws Exception {
    Path file = configure("", first);
    Path logs = directory.resolve("logs");
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      configure("log: {format: json, directory: '" + logs + "'}\n", first);
      router.hangUp();
      router.awaitOutput("\"message\":\"configuration reloaded");
      // Another thread writes the file.
      WaitFor.until(
          "the line in the file",
          WaitFor.LONG,
          () ->
              text(logs.resolve("pointsman.log")).contains("\"message\":\"configuration reloaded"));
      configure("log: {directory: '" + file + "/below'}\n", first);
      router.hangUp();
      router.awaitOutput("log.directory: cannot be written to: ");
      router.verify();
    }
  }

  private static String text(Path file) {
    try {
      return Files.exists(file) ? Files.readString(file) : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  @Tag("full")
  void aReloadAddsAWorkerThatTheApiRemoved() throws Exception {
    Path file = configure("", first, second);
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      String removal = "/remove_worker?url=" + second.url();
      assertThat(RawClient.call(router.port(), "POST", removal, "").status()).isEqualTo(200);
      long before = served(second);
      assertThat(servesOn(router.port(), first)).isTrue();
      assertThat(served(second)).isEqualTo(before);
      router.hangUp();
      WaitFor.until("it serves", WaitFor.LONG, () -> servesOn(router.port(), second));
      router.verify();
    }
  }

  @Test
  void rotatedSecretsAreInForceAfterAReload() throws Exception {
    Path ofAdmin = Files.writeString(directory.resolve("admin.key"), "admin-1");
    Path ofEngines = Files.writeString(directory.resolve("engines.key"), "engines-1");
    String keys =
        "admin: {api-key-file: '%s'}\napi-key: {file: '%s'}\n".formatted(ofAdmin, ofEngines);
    Path file = configure(keys, first);
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      Map<String, Integer> streams = new ConcurrentHashMap<>();
      Thread client =
          Thread.ofVirtual().start(() -> streams.merge(stream(router.port()), 1, Integer::sum));
      WaitFor.until("the stream runs", WaitFor.LONG, () -> streams(first) == 1);
      assertThat(lastKey()).isEqualTo("Bearer engines-1");

      Files.writeString(ofAdmin, "admin-2");
      Files.writeString(ofEngines, "engines-2");
      HttpAnswer answer = reload(router, "admin-1");

      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.text()).contains("\"api-key\"", "\"admin.api-key-file\"");
      assertThat(answer.text()).doesNotContain("engines-2", "admin-2");
      assertThat(reload(router, "admin-1").status()).isEqualTo(401);
      assertThat(reload(router, "admin-2").status()).isEqualTo(200);
      assertThat(ask(router.port())).isEqualTo("200");
      assertThat(lastKey()).isEqualTo("Bearer engines-2");
      assertThat(streams).as("streams that have ended").isEmpty();
      streamsEnd.countDown();
      client.join();
      assertThat(streams).isEqualTo(Map.of("done", 1));
      router.verify();
    }
  }

  private String lastKey() {
    return first.requests().stream()
        .filter(each -> each.line().startsWith("POST "))
        .reduce((_, later) -> later)
        .map(each -> String.valueOf(each.header("authorization")))
        .orElse("");
  }

  private static HttpAnswer reload(RouterProcess router, String key) throws IOException {
    try (RawClient client = RawClient.connect(router.port())) {
      List<String> headers = List.of("authorization: Bearer " + key);
      return client.send("POST", "/config/reload", new byte[0], headers).read();
    }
  }

  @Test
  @Tag("full")
  void everyStreamSurvivesReloads() throws Exception {
    List<String> groups = groups();
    streamsSurvive(12, groups.size() + 1, groups);
  }

  @Test
  @Tag("full")
  @Timeout(600)
  void athousandStreamsSurviveFiveHundredReloads() throws Exception {
    streamsSurvive(1000, 500, groups());
  }

  private static final String LISTENER = "listen: {host: 0.0.0.0}";

  /** Keys that one reload sets and the next one resets; each is a part of a router. */
  private List<String> groups() throws Exception {
    TestCertificate one = TestCertificate.make(directory, "one", "ip:127.0.0.1");
    Files.writeString(directory.resolve("workers.yaml"), "- " + third.url() + "\n");
    String files = "certificate-file: '%s', key-file: '%s'".formatted(one.certificate(), one.key());
    return List.of(
        "shadow-policy: least_load",
        LISTENER,
        "capture: {file: '" + directory.resolve("capture.jsonl") + "'}",
        "log: {format: json, directory: '" + directory.resolve("logs") + "', requests: true}",
        "pool: {idle-timeout: 7s, max-idle-per-worker: 7, name-ttl: 7s}",
        "decide: {ttl: 7s, max-share: 0.25, max-leases: 7}",
        "decide: {enabled: false}",
        "models: {merged: false}",
        "admin: {stack-endpoints: true, refused-paths: [/x], ray-application: a}",
        "metrics: {vllm-router-names: true, like-production-stack: true}",
        "metrics: {enabled: false}",
        "decisions: {sample: 0.5, keep: 7}",
        "disaggregation: {protocol: nixl, threshold: 7}",
        "tls: {" + files + "}",
        "kv-events: {mode: static, endpoint: 'tcp://*:1'}",
        "engine-tls: {ca-file: '" + one.certificate() + "'}",
        "admin-tls: {" + files + "}",
        "metrics-tls: {" + files + "}",
        "admin: {host: 127.0.0.2}",
        "tracing: {enabled: true, protocol: http, endpoint: 'http://127.0.0.1:1'}",
        "discovery: {file: '" + directory.resolve("workers.yaml") + "'}",
        "engine-load: {interval: 1s}",
        "session-affinity: soft",
        "model-aliases: {other: " + Cluster.MODEL + "}",
        "retry: {max-attempts: 7}",
        "http2: {max-streams: 77}",
        "cors: {enabled: true}",
        "queue: {defer-without-worker: 1s}");
  }

  /**
   * Each reload changes the policy, limits, timeouts, probes, workers and one of {@link #groups}.
   */
  private void streamsSurvive(int count, int reloads, List<String> groups) throws Exception {
    Path file = configure("", first, second);
    try (RouterProcess router = RouterProcess.start("--config", file.toString())) {
      Map<String, Integer> streams = new ConcurrentHashMap<>();
      List<Thread> clients = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        clients.add(
            Thread.ofVirtual().start(() -> streams.merge(stream(router.port()), 1, Integer::sum)));
      }
      WaitFor.until(
          () -> "all streams run, ended: " + streams,
          WaitFor.LONG,
          () -> streams(first) + streams(second) == count);
      String before = "";
      for (int i = 0; i < reloads; i++) {
        String group = i == reloads - 1 ? "" : groups.get(i % groups.size());
        write(file, i, group);
        reload(router, before, group);
        assertThat(streams).as("ended after " + group).isEmpty();
        before = group;
        if (i % 10 == 5 && !group.startsWith("tls:")) {
          Files.writeString(file, "policy: [");
          HttpAnswer answer = RawClient.call(router.port(), "POST", "/config/reload", "");
          assertThat(answer.status()).isEqualTo(409);
          assertThat(answer.text()).contains("router.yaml");
        }
      }
      streamsEnd.countDown();
      for (Thread client : clients) {
        client.join();
      }
      assertThat(streams).isEqualTo(Map.of("done", count));
      router.verify();
    }
  }

  private void write(Path file, int number, String group) throws IOException {
    String[] policies = {"cost", "cache_aware", "least_load", "consistent_hash", "random"};
    Files.writeString(
        file,
        """
        policy: %s
        workers: [%s, %s]
        timeouts: {total: %ds}
        limits: {max-body: %dMiB}
        health: {interval: %ds}
        breaker: {failure-threshold: %d}
        %s
        """
            .formatted(
                policies[number % policies.length],
                first.url(),
                (number % 2 == 0 ? third : second).url(),
                1000 + number,
                10 + number,
                5 + number % 5,
                3 + number % 4,
                group));
  }

  /** Reloads, and waits until the router serves by the new configuration. */
  private static void reload(RouterProcess router, String before, String group) throws Exception {
    if (before.startsWith("tls:")) {
      // The API answers only over TLS.
      router.hangUp();
      WaitFor.until(
          "it serves in clear text", WaitFor.LONG, () -> ask(router.port()).equals("200"));
    } else {
      HttpAnswer answer = RawClient.call(router.port(), "POST", "/config/reload", "");
      assertThat(answer.text()).as(group).contains("\"reloaded\":true");
    }
    if (group.equals(LISTENER) || before.equals(LISTENER)) {
      router.awaitMove();
    }
    if (group.startsWith("tls:")) {
      assertThat(ask(router.port())).as("a request in clear text").doesNotStartWith("200");
    } else {
      assertThat(ask(router.port())).as(group).isEqualTo("200");
    }
  }

  private Path configure(String more, ScriptedEngine... engines) throws IOException {
    String urls = Stream.of(engines).map(ScriptedEngine::url).collect(Collectors.joining(", "));
    String text = "policy: round_robin\nworkers: [" + urls + "]\n" + more;
    return Files.writeString(directory.resolve("router.yaml"), text);
  }

  private static boolean servesOn(int port, ScriptedEngine engine) {
    return ask(port).equals("200") && served(engine) > 0;
  }

  private static long served(ScriptedEngine engine) {
    return engine.requests().stream().filter(r -> r.line().startsWith("POST ")).count();
  }

  private static void send(int port, AtomicBoolean over, Map<String, Integer> seen) {
    while (!over.get()) {
      seen.merge(ask(port), 1, Integer::sum);
      WaitFor.pause(2); // spares the machine
    }
  }

  private static String ask(int port) {
    try {
      String body = FaultRig.request(false);
      HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", body);
      String text = answer.status() == 200 ? "" : " " + answer.text();
      return answer.status() + text + (answer.complete() ? "" : ", cut");
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static String stream(int port) {
    try {
      String body = FaultRig.request(true);
      HttpAnswer answer = RawClient.call(port, "POST", "/v1/completions", body);
      String whole = "data: begun\n\ndata: more\n\ndata: [DONE]\n\n";
      return answer.complete() && answer.text().equals(whole)
          ? "done"
          : answer.status() + ": " + answer.text();
    } catch (IOException e) {
      return e.toString();
    }
  }
}
