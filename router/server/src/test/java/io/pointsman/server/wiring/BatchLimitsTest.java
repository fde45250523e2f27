package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.api.keys.KeyFile;
import io.pointsman.api.keys.StoredKey;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The limits of a client that sends batches, over sockets. */
@Timeout(120)
class BatchLimitsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CHAT = "/v1/chat/completions";
  private static final String LIMITED = "pointsman_client_limited_total{";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";

  @TempDir Path directory;

  private HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private static void add(Path file, String name, ClientQuota quota) throws IOException {
    ClientQuotas quotas = new ClientQuotas(quota, Map.of());
    String hash = StoredKey.hash("pmk-" + name);
    KeyFile.add(file, new StoredKey(name, KeyRole.CLIENT, hash, List.of(), quotas, null, null));
  }

  private HttpResponse<String> call(
      Router router, String path, String name, String type, String body) throws Exception {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(router.url() + path))
            .header("authorization", "Bearer pmk-" + name);
    if (!type.isEmpty()) {
      request.header("content-type", type).POST(HttpRequest.BodyPublishers.ofString(body));
    }
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  private JsonNode batch(Router router, String id) {
    try {
      return JSON.readTree(call(router, "/v1/batches/" + id, "alice", "", "").body());
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private String create(Router router, int requests) throws Exception {
    String part = "--b\r\nContent-Disposition: form-data; name=";
    StringBuilder upload = new StringBuilder(part + "\"purpose\"\r\n\r\nbatch\r\n");
    upload.append(part).append("\"file\"; filename=\"in.jsonl\"\r\n\r\n");
    for (int i = 0; i < requests; i++) {
      upload.append("{\"custom_id\":\"").append(i).append("\",\"method\":\"POST\",\"url\":\"");
      upload.append(CHAT).append("\",\"body\":").append(HI).append("}\n");
    }
    String form = "multipart/form-data; boundary=b";
    HttpResponse<String> file =
        call(router, "/v1/files", "alice", form, upload.append("\r\n--b--\r\n").toString());
    assertThat(file.statusCode()).as(file.body()).isEqualTo(200);
    String body =
        "{\"input_file_id\":\"%s\",\"endpoint\":\"%s\"}"
            .formatted(JSON.readTree(file.body()).path("id").asText(), CHAT);
    HttpResponse<String> made = call(router, "/v1/batches", "alice", "application/json", body);
    assertThat(made.statusCode()).as(made.body()).isEqualTo(200);
    return JSON.readTree(made.body()).path("id").asText();
  }

  private String metrics(Router router) {
    URI page = URI.create(String.valueOf(router.metricsUrl()));
    try {
      return http.send(HttpRequest.newBuilder(page).build(), HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<EngineRequest> chats(ScriptedEngine engine) {
    return engine.requests().stream().filter(each -> each.line().startsWith("POST ")).toList();
  }

  private PointsmanConfig config(ScriptedEngine engine, Path keys) {
    String yaml =
        """
        listen: {port: 0}
        metrics: {port: 0}
        policy: round_robin
        health: {first-retry: 10ms, max-retry: 50ms}
        api-key: engines-key
        auth: {keys-file: '%s'}
        batch: {enabled: true, directory: '%s', api-key: pmk-batches}
        workers: ['%s']
        """
            .formatted(keys, directory.resolve("files"), engine.url());
    return PointsmanConfig.from(YamlConfig.parse("test", yaml));
  }

  private Path keys(String name, ClientQuota ofAlice) throws IOException {
    Path file = directory.resolve(name);
    add(file, "alice", ofAlice);
    add(file, "bob", ClientQuota.INHERITED);
    add(file, "batches", ClientQuota.INHERITED);
    return file;
  }

  private static Router started(PointsmanConfig config) {
    Router router = Router.start(config, "test");
    Await.until("healthy", () -> router.fleet().snapshot().workers().getFirst().health().healthy());
    return router;
  }

  private JsonNode ended(Router router, String batch) {
    Await.until(
        "the batch has ended",
        () -> batch(router, batch).path("status").asText().equals("completed"));
    return batch(router, batch);
  }

  @Test
  void aUsedBudgetOfTheDayEndsRequestsWithTheErrorOfTheApi() throws Exception {
    Path keys = keys("keys.yaml", new ClientQuota(-1, -1, -1, -1, 2, -1));
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        Router router = started(config(engine, keys))) {
      JsonNode done = ended(router, create(router, 3));

      assertThat(done.at("/request_counts").toString())
          .isEqualTo("{\"total\":3,\"completed\":2,\"failed\":1}");
      String errors = "/v1/files/" + done.path("error_file_id").asText() + "/content";
      JsonNode refused = JSON.readTree(call(router, errors, "alice", "", "").body());
      assertThat(refused.at("/response/status_code").asInt()).isEqualTo(429);
      assertThat(refused.at("/response/body/error/code").asText()).isEqualTo("rate_limit_exceeded");
      HttpResponse<String> direct = call(router, CHAT, "alice", "application/json", HI);
      assertThat(direct.statusCode()).as(direct.body()).isEqualTo(429);
      assertThat(direct.headers().firstValue("x-pointsman-limit")).hasValue("requests_per_day");
      assertThat(call(router, CHAT, "bob", "application/json", HI).statusCode()).isEqualTo(200);
      assertThat(chats(engine))
          .hasSize(3)
          .allMatch(each -> "Bearer engines-key".equals(each.header("authorization")))
          .allMatch(each -> each.header("x-pointsman-batch") == null);
    } finally {
      http.shutdownNow();
    }
  }

  @Test
  void requestsWaitForTheLimitsOfAMinute() throws Exception {
    Path keys = keys("keys.yaml", new ClientQuota(-1, 30, -1, -1, -1, -1));
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()));
        Router router = started(config(engine, keys))) {
      JsonNode done = ended(router, create(router, 31));

      assertThat(done.at("/request_counts").toString())
          .isEqualTo("{\"total\":31,\"completed\":31,\"failed\":0}");
      assertThat(chats(engine)).hasSize(31);
      String refused = LIMITED + "client=\"alice\",limit=\"requests_per_minute\",";
      assertThat(metrics(router)).contains(refused);
    } finally {
      http.shutdownNow();
    }
  }

  /** A direct request of the client has its only place; then the limit is lifted. */
  @Test
  void requestsOfARunningBatchHaveTheLimitsOfTheConfigurationInForce() throws Exception {
    CountDownLatch ends = new CountDownLatch(1);
    EngineScript held =
        (request, connection) -> {
          if (request.bodyText().contains("held")) {
            ends.await();
          }
          Faults.Answer.ok().answer(request, connection);
        };
    Path keys = keys("keys.yaml", new ClientQuota(1, -1, -1, -1, -1, -1));
    try (ScriptedEngine engine = ScriptedEngine.start(new Faults.Healthy("m", held))) {
      PointsmanConfig before = config(engine, keys);
      try (Router router = started(before)) {
        CompletableFuture<Integer> direct =
            CompletableFuture.supplyAsync(() -> held(router), Thread::startVirtualThread);
        Await.until("the direct request is sent", () -> chats(engine).size() == 1);
        String batch = create(router, 3);
        Await.until(
            "the batch waits",
            () -> metrics(router).contains(LIMITED + "client=\"alice\",limit=\"concurrency\","));
        assertThat(chats(engine)).hasSize(1);

        Path changed = keys("changed.yaml", ClientQuota.INHERITED);
        router.change(before, config(engine, changed));

        JsonNode done = ended(router, batch);
        assertThat(done.at("/request_counts/completed").asInt()).isEqualTo(3);
        assertThat(chats(engine)).hasSize(4);
        ends.countDown();
        assertThat(direct.join()).isEqualTo(200);
      }
    } finally {
      ends.countDown();
      http.shutdownNow();
    }
  }

  private static HttpClient trusting(TestCertificate certificate) throws Exception {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    String alias = certificate.store().aliases().nextElement();
    known.setCertificateEntry("known", certificate.store().getCertificate(alias));
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(known);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, managers.getTrustManagers(), null);
    return HttpClient.newBuilder().sslContext(context).build();
  }

  /** Files above the limit are refused, and the requests of batches follow the listener. */
  @Test
  void limitsAndTheAddressOfTheListenerChange() throws Exception {
    Path keys = keys("keys.yaml", ClientQuota.INHERITED);
    try (ScriptedEngine engine =
        ScriptedEngine.start(new Faults.Healthy("m", Faults.Answer.ok()))) {
      PointsmanConfig first = config(engine, keys);
      PointsmanConfig before = first.withBatch(first.batch().withMaxFileBytes(1024));
      try (Router router = started(before)) {
        StringBuilder upload = new StringBuilder("--b\r\nContent-Disposition: form-data; name=");
        upload.append("\"purpose\"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; name=");
        upload.append("\"file\"; filename=\"in.jsonl\"\r\n\r\n").append("x".repeat(5000));
        upload.append("\r\n--b--\r\n");
        String form = "multipart/form-data; boundary=b";
        String body = upload.toString();
        assertThat(call(router, "/v1/files", "alice", form, body).statusCode()).isEqualTo(413);

        PointsmanConfig larger = before.withBatch(before.batch().withMaxFileBytes(8192));
        router.change(before, larger);
        assertThat(call(router, "/v1/files", "alice", form, body).statusCode()).isEqualTo(200);

        int free;
        try (ServerSocket found = new ServerSocket(0)) {
          free = found.getLocalPort();
        }
        PointsmanConfig moved =
            larger.withProxy(
                larger.proxy().withListen(larger.proxy().listen().at("127.0.0.1", free)));
        router.change(larger, moved);
        assertThat(router.url()).endsWith(":" + free);
        assertThat(ended(router, create(router, 3)).at("/request_counts/completed").asInt())
            .isEqualTo(3);

        TestCertificate own = TestCertificate.make(directory, "own", "ip:127.0.0.1");
        ServerTlsSettings tls =
            new ServerTlsSettings(
                own.certificate().toString(),
                own.key().toString(),
                "",
                "",
                ServerTlsSettings.ClientCertificates.REQUIRED,
                Duration.ofSeconds(7));
        PointsmanConfig encrypted =
            moved.withProxy(moved.proxy().withListen(moved.proxy().listen().withTls(tls)));
        router.change(moved, encrypted);
        assertThat(router.url()).startsWith("https:");
        http = trusting(own);
        assertThat(ended(router, create(router, 2)).at("/request_counts/completed").asInt())
            .isEqualTo(2);
        http.shutdownNow();
      }
    } finally {
      http.shutdownNow();
    }
  }

  private int held(Router router) {
    try {
      String body = "{\"model\":\"m\",\"messages\":[],\"user\":\"held\"}";
      return call(router, CHAT, "alice", "application/json", body).statusCode();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }
}
