package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.json;
import static io.pointsman.api.admin.AdminFixture.text;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.LocalResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkersApiTest {
  private final AdminFixture admin = new AdminFixture();

  private Lease lease(Worker worker) {
    return requireNonNull(worker.tryLease(admin.clock.nanos(), 10, 0, (_, _) -> {}));
  }

  @Test
  void aWorkerIsAddedWhenItIsHealthy() throws Exception {
    admin.up.add("http://a_1:1");
    LocalResponse response = admin.post("/add_worker?url=http://a_1:1");
    assertThat(response.status()).isEqualTo(200);
    assertThat(text(response)).isEqualTo("Successfully added worker: http://a_1:1");
    assertThat(json(admin.get("/list_workers")).path("urls").get(0).asText())
        .isEqualTo("http://a_1:1");
  }

  @Test
  void anUnhealthyWorkerIsNotAdded() throws Exception {
    LocalResponse response = admin.post("/add_worker?url=http://a:1");
    assertThat(response.status()).isEqualTo(400);
    assertThat(text(response)).contains("did not become healthy within 10 s");
    assertThat(admin.fleet.snapshot().workers()).isEmpty();
  }

  @Test
  void anExistingWorkerIsNotAddedTwice() throws Exception {
    admin.healthyWorker("http://a:1");
    assertThat(admin.post("/add_worker?url=http%3A%2F%2Fa%3A1%2F").status()).isEqualTo(200);
    assertThat(admin.fleet.snapshot().workers()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/add_worker",
        "/add_worker?url=",
        "/add_worker?url=ftp://a",
        "/add_worker?url=http://"
      })
  void anInvalidUrlIsRefused(String target) throws Exception {
    LocalResponse response = admin.post(target);
    assertThat(response.status()).isEqualTo(400);
    assertThat(text(response)).contains("(expected: ");
  }

  @Test
  void removingAWorkerAlwaysSucceeds() throws Exception {
    admin.healthyWorker("http://a:1");
    for (int i = 0; i < 2; i++) {
      LocalResponse response = admin.post("/remove_worker?url=http://a:1");
      assertThat(response.status()).isEqualTo(200);
      assertThat(text(response)).isEqualTo("Successfully removed worker: http://a:1");
      assertThat(admin.fleet.snapshot().workers()).isEmpty();
    }
  }

  @Test
  void deletingAnUnknownWorkerIsRefused() throws Exception {
    admin.healthyWorker("http://a:1");
    LocalResponse response = admin.send("DELETE", "/workers/http%3A%2F%2Ftypo%3A1", "");
    assertThat(response.status()).isEqualTo(404);
    assertThat(json(response).path("code").asText()).isEqualTo("WORKER_NOT_FOUND");
    assertThat(json(response).path("error").asText()).isEqualTo("worker http://typo:1 not found");
    assertThat(admin.fleet.snapshot().workers()).hasSize(1);
  }

  @Test
  void aWorkerIsDeletedByItsId() throws Exception {
    Worker worker = admin.fleet.add(WorkerSpec.of("http://a:1").withId("first"));
    assertThat(admin.send("DELETE", "/workers/first", "").status()).isEqualTo(200);
    assertThat(admin.fleet.snapshot().workers()).doesNotContain(worker);
    assertThat(admin.send("DELETE", "/workers/first", "").status()).isEqualTo(404);
  }

  @Test
  void loadIsRequestsInFlight() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    Lease first = lease(worker);
    Lease second = lease(worker);
    assertThat(text(admin.get("/get_loads")))
        .isEqualTo("{\"workers\":[{\"worker\":\"http://a:1\",\"load\":2}]}");
    first.succeeded();
    second.ignored();
    assertThat(json(admin.get("/get_loads")).path("workers").get(0).path("load").asInt()).isZero();
  }

  @Test
  void theListContainsTheStateOfEachWorker() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1", "llama");
    Lease running = lease(worker);
    lease(worker).succeeded();
    worker.rest(1_000);
    JsonNode body = json(admin.get("/workers"));
    assertThat(body.path("total").asInt()).isEqualTo(1);
    assertThat(body.path("stats").path("regular_count").asInt()).isEqualTo(1);
    JsonNode shown = body.path("workers").get(0);
    assertThat(shown.path("url").asText()).isEqualTo("http://a:1");
    assertThat(shown.path("model_id").asText()).isEqualTo("llama");
    assertThat(shown.path("worker_type").asText()).isEqualTo("regular");
    assertThat(shown.path("is_healthy").asBoolean()).isTrue();
    assertThat(shown.path("load").asInt()).isEqualTo(1);
    assertThat(shown.path("connection_mode").asText()).isEqualTo("http");
    assertThat(shown.path("priority").toString()).isEqualTo("50");
    assertThat(shown.path("cost").asDouble()).isEqualTo(1.0);
    assertThat(shown.path("served").asInt()).isEqualTo(1);
    assertThat(shown.path("breaker").asText()).isEqualTo("closed");
    assertThat(shown.path("resting").asBoolean()).isTrue();
    assertThat(shown.path("available").asBoolean()).isFalse();
    assertThat(shown.path("reason").asText("none")).isEmpty();
    running.ignored();
  }

  @Test
  void theListContainsTheReasonOfAnUnhealthyWorker() throws Exception {
    Worker worker = admin.fleet.add(WorkerSpec.of("http://a:1"));
    assertThat(json(admin.get("/workers/a:1")).path("reason").asText()).isEqualTo("not probed yet");
    worker.probes().failing("status 404 of GET /health");
    worker.probed(false);
    assertThat(json(admin.get("/workers")).path("workers").get(0).path("reason").asText())
        .isEqualTo("status 404 of GET /health");
  }

  @Test
  void oneWorkerIsFoundByItsEncodedUrl() throws Exception {
    admin.healthyWorker("http://a:1");
    LocalResponse found = admin.get("/workers/http%3A%2F%2Fa%3A1");
    assertThat(found.status()).isEqualTo(200);
    assertThat(json(found).path("url").asText()).isEqualTo("http://a:1");
    assertThat(json(found).path("is_healthy").asBoolean()).isTrue();
    assertThat(admin.get("/workers/a:1").status()).isEqualTo(200);
  }

  @Test
  void anUnknownWorkerIsNotFound() throws Exception {
    LocalResponse response = admin.get("/workers/http%3A%2F%2Fb%3A1");
    assertThat(response.status()).isEqualTo(404);
    assertThat(json(response).path("code").asText()).isEqualTo("WORKER_NOT_FOUND");
  }

  @Test
  void aWorkerIsPostedAndDeleted() throws Exception {
    admin.up.add("http://a:1");
    LocalResponse posted =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"model_id\":\"llama\"}");
    assertThat(posted.status()).isEqualTo(200);
    assertThat(json(posted).path("success").asBoolean()).isTrue();
    assertThat(json(posted).has("worker")).isTrue();
    assertThat(admin.fleet.snapshot().modelNames()).containsExactly("llama");
    assertThat(admin.send("DELETE", "/workers/http%3A%2F%2Fa%3A1", "").status()).isEqualTo(200);
    assertThat(admin.fleet.snapshot().workers()).isEmpty();
  }

  @Test
  void anExistingWorkerIsNotAddedForAnotherModel() throws Exception {
    admin.healthyWorker("http://a:1", "llama");
    LocalResponse same =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"model_id\":\"llama\"}");
    assertThat(same.status()).isEqualTo(200);
    LocalResponse other =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"model_id\":\"qwen\"}");
    assertThat(other.status()).isEqualTo(400);
    assertThat(json(other).path("error").asText())
        .isEqualTo("model_id: qwen (expected: one of [llama], which are the models of worker a:1)");
    assertThat(admin.fleet.snapshot().modelNames()).containsExactly("llama");
  }

  @Test
  void aPrefillWorkerIsAddedWithItsBootstrapPort() throws Exception {
    DisaggSettings off = DisaggSettings.DEFAULTS;
    DisaggSettings settings =
        new DisaggSettings(
            "mooncake",
            off.prefillPolicy(),
            off.decodePolicy(),
            off.split(),
            off.protocols(),
            off.stages(),
            off.indexMaxBytes());
    AdminFixture two = new AdminFixture(1, settings);
    two.up.add("http://a:1");
    String body = "{\"url\":\"http://a:1\",\"worker_type\":\"prefill\",\"bootstrap_port\":8998}";
    assertThat(two.send("POST", "/workers", body).status()).isEqualTo(200);
    JsonNode shown = json(two.get("/workers")).path("workers").get(0);
    assertThat(shown.path("worker_type").asText()).isEqualTo("prefill");
    assertThat(shown.path("bootstrap_port").asInt()).isEqualTo(8998);
    assertThat(json(two.get("/workers")).path("stats").path("prefill_count").asInt()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"worker_type\":\"prefill\"",
        "\"worker_type\":\"decode\"",
        "\"worker_type\":\"both\"",
        "\"worker_type\":7",
        "\"bootstrap_port\":0",
        "\"kv_address\":\"a b\""
      })
  void anInvalidRoleOrPeerIsRefused(String member) throws Exception {
    admin.up.add("http://a:1");
    LocalResponse response =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\"," + member + "}");
    assertThat(response.status()).isEqualTo(400);
    assertThat(json(response).path("error").asText()).contains("(expected: ");
    assertThat(admin.fleet.snapshot().workers()).isEmpty();
  }

  @Test
  void anUnknownMemberIsRefusedAndNothingIsAdded() throws Exception {
    admin.up.add("http://a:1");
    LocalResponse misspelt =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"wieght\":3}");
    assertThat(misspelt.status()).isEqualTo(400);
    assertThat(json(misspelt).path("error").asText())
        .isEqualTo("wieght: unknown member (did you mean weight?)");
    LocalResponse other =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"is_healthy\":true}");
    assertThat(json(other).path("error").asText())
        .startsWith("is_healthy: unknown member (expected: url, model_id, worker_type, labels, ");
    LocalResponse ofConfiguration =
        admin.send("POST", "/workers", "{\"url\":\"http://a:1\",\"model\":\"x\"}");
    assertThat(json(ofConfiguration).path("error").asText())
        .isEqualTo("model: unknown member (did you mean model_id?)");
    assertThat(admin.fleet.snapshot().workers()).isEmpty();
  }

  @Test
  void membersOfVllmRouterWithoutAnEffectAreTaken() throws Exception {
    admin.up.add("http://a:1");
    String body =
        "{\"url\":\"http://a:1\",\"priority\":1,\"cost\":2.0,\"api_key\":null,"
            + "\"tokenizer_path\":\"t\",\"reasoning_parser\":\"r\",\"tool_parser\":\"p\","
            + "\"chat_template\":\"c\"}";
    assertThat(admin.send("POST", "/workers", body).status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{\"url\":", "{}", "{\"url\":\"nonsense\"}"})
  void aPostWithoutAUrlIsRefused(String body) throws Exception {
    LocalResponse response = admin.send("POST", "/workers", body);
    assertThat(response.status()).isEqualTo(400);
    assertThat(json(response).path("code").asText()).isEqualTo("ADD_WORKER_FAILED");
  }

  @Test
  void ranksAreAddedAndRemovedTogether() throws Exception {
    AdminFixture ranked = new AdminFixture(2);
    ranked.up.add("http://a:1");
    assertThat(ranked.post("/add_worker?url=http://a:1").status()).isEqualTo(200);
    assertThat(text(ranked.get("/list_workers")))
        .isEqualTo("{\"urls\":[\"http://a:1@0\",\"http://a:1@1\"]}");
    ranked.post("/remove_worker?url=http://a:1@0");
    assertThat(ranked.fleet.snapshot().workers()).hasSize(1);
    ranked.post("/remove_worker?url=http://a:1");
    assertThat(ranked.fleet.snapshot().workers()).isEmpty();
  }
}
