package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files and batches that begin, get another directory and end while the router runs. */
@Timeout(120)
@SuppressWarnings("NullAway.Init") // set before each test
class ChangedBatchesTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = "/v1/chat/completions";
  private static final int REQUESTS = 3;

  @TempDir Path directory;
  private final HttpClient http =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** Opens the answers to requests of batches. */
  private volatile CountDownLatch answers = new CountDownLatch(0);

  private ScriptedEngine engine;
  private Router router;

  @BeforeEach
  void start() throws Exception {
    EngineScript script =
        (request, connection) -> {
          if (request.line().contains(CHAT)) {
            answers.await();
          }
          Faults.Answer.ok().answer(request, connection);
        };
    engine = ScriptedEngine.start(new Faults.Healthy("m", script));
  }

  @AfterEach
  void close() throws IOException {
    answers.countDown();
    http.shutdownNow();
    router.close();
    engine.close();
  }

  private PointsmanConfig off() {
    return config("");
  }

  private PointsmanConfig in(String name) {
    return config("batch: {enabled: true, directory: '" + directory.resolve(name) + "'}\n");
  }

  private PointsmanConfig config(String batches) {
    String yaml =
        """
        listen: {port: 0}
        metrics: {port: 0}
        admin: {port: 0}
        policy: round_robin
        health: {first-retry: 10ms, max-retry: 50ms}
        workers: ['%s']
        """
            .formatted(engine.url());
    return PointsmanConfig.from(YamlConfig.parse("test", yaml + batches));
  }

  private void started(PointsmanConfig config) {
    router = Router.start(config, "test");
    Await.until("healthy", () -> router.fleet().snapshot().workers().getFirst().health().healthy());
  }

  private HttpResponse<String> call(String path, String type, String body) throws Exception {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(router.url() + path));
    if (!type.isEmpty()) {
      request.header("content-type", type).POST(HttpRequest.BodyPublishers.ofString(body));
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode get(String path) {
    try {
      return JSON.readTree(call(path, "", "").body());
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private String create() throws Exception {
    String part = "--b\r\nContent-Disposition: form-data; name=";
    StringBuilder upload = new StringBuilder(part + "\"purpose\"\r\n\r\nbatch\r\n");
    upload.append(part).append("\"file\"; filename=\"in.jsonl\"\r\n\r\n");
    for (int i = 0; i < REQUESTS; i++) {
      upload.append("{\"custom_id\":\"").append(i).append("\",\"method\":\"POST\",\"url\":\"");
      upload.append(CHAT).append("\",\"body\":{\"model\":\"m\",\"messages\":[]}}\n");
    }
    HttpResponse<String> file =
        call(
            "/v1/files",
            "multipart/form-data; boundary=b",
            upload.append("\r\n--b--\r\n").toString());
    assertThat(file.statusCode()).as(file.body()).isEqualTo(200);
    String body =
        "{\"input_file_id\":\"%s\",\"endpoint\":\"%s\"}"
            .formatted(JSON.readTree(file.body()).path("id").asText(), CHAT);
    HttpResponse<String> made = call("/v1/batches", "application/json", body);
    assertThat(made.statusCode()).as(made.body()).isEqualTo(200);
    return JSON.readTree(made.body()).path("id").asText();
  }

  private long sent(String path) {
    return engine.requests().stream().filter(each -> each.line().contains(path)).count();
  }

  private void awaitCompleted(String batch) {
    Await.until(
        () -> "the batch has ended: " + get("/v1/batches/" + batch),
        () -> get("/v1/batches/" + batch).path("status").asText().equals("completed"));
    assertThat(get("/v1/batches/" + batch).at("/request_counts").toString())
        .isEqualTo("{\"total\":3,\"completed\":3,\"failed\":0}");
  }

  @Test
  void batchesBeginAndTheirPathsGoToAWorkerWithoutThem() throws Exception {
    started(off());
    assertThat(call("/v1/files", "", "").statusCode()).isEqualTo(200);
    assertThat(sent("GET /v1/files ")).isEqualTo(1);

    router.change(off(), in("a"));
    assertThat(get("/v1/files").path("data").isArray()).isTrue();
    assertThat(sent("GET /v1/files ")).isEqualTo(1);
    awaitCompleted(create());

    router.change(in("a"), off());
    assertThat(call("/v1/files", "", "").statusCode()).isEqualTo(200);
    assertThat(sent("GET /v1/files ")).isEqualTo(2);
  }

  @Test
  void aBatchInProgressContinuesAfterItsEnd() throws Exception {
    started(in("a"));
    answers = new CountDownLatch(1);
    String batch = create();
    Await.until("requests of the batch", () -> sent(CHAT) == REQUESTS);

    router.change(in("a"), off());
    answers.countDown();
    assertThat(sent(CHAT)).isEqualTo(REQUESTS);

    router.change(off(), in("a"));
    awaitCompleted(batch);
    assertThat(sent(CHAT)).isEqualTo(2 * REQUESTS);
  }

  @Test
  void aBatchContinuesWithItsDirectory() throws Exception {
    started(in("a"));
    answers = new CountDownLatch(1);
    String batch = create();
    Await.until("requests of the batch", () -> sent(CHAT) == REQUESTS);

    router.change(in("a"), in("b"));
    answers.countDown();
    assertThat(call("/v1/batches/" + batch, "", "").statusCode()).isEqualTo(404);
    assertThat(get("/v1/files").path("data")).isEmpty();
    awaitCompleted(create());

    router.change(in("b"), in("a"));
    awaitCompleted(batch);
    assertThat(get("/v1/batches").path("data")).hasSize(1);
  }

  @Test
  void anotherSpellingOfTheDirectoryKeepsTheStore() throws Exception {
    started(in("a"));
    String batch = create();
    awaitCompleted(batch);
    Files.createSymbolicLink(directory.resolve("link"), directory.resolve("a"));
    router.change(in("a"), in("link"));
    assertThat(get("/v1/batches").path("data")).hasSize(1);
    router.change(in("link"), in("a/../a"));
    assertThat(get("/v1/batches").path("data")).hasSize(1);
    router.change(in("a/../a"), in("b"));
    assertThat(get("/v1/batches").path("data")).isEmpty();
    router.change(in("b"), in("link"));
    assertThat(get("/v1/batches").path("data")).hasSize(1);
  }

  @Test
  void aDirectoryThatCannotBeUsedIsRefused() throws Exception {
    Files.writeString(directory.resolve("file"), "");
    started(in("a"));
    String batch = create();
    awaitCompleted(batch);
    assertThatThrownBy(() -> router.change(in("a"), in("file")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("batch.directory: ")
        .hasMessageContaining("(expected: a writable directory)");
    try (Router other = Router.start(in("b"), "test")) {
      assertThat(other.url()).isNotEmpty();
      assertThatThrownBy(() -> router.change(in("a"), in("b")))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("is in use (expected: one router at a time)");
    }
    assertThat(get("/v1/batches/" + batch).path("status").asText()).isEqualTo("completed");
    router.change(in("a"), in("b"));
    assertThat(get("/v1/batches").path("data")).isEmpty();
  }
}
