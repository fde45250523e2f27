package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.json;
import static io.pointsman.api.admin.AdminFixture.text;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.LocalResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CordonApiTest {
  private final AdminFixture admin = new AdminFixture();

  private Lease lease(Worker worker) {
    return requireNonNull(worker.tryLease(admin.clock.nanos(), 10, 0, (_, _) -> {}));
  }

  @Test
  void aWorkerIsCordonedAndUncordonedByUrlOrId() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1", "m");
    JsonNode answer = json(admin.post("/workers/http://a:1/cordon"));
    assertThat(answer.path("cordoned").asBoolean()).isTrue();
    assertThat(answer.path("drained").asBoolean()).isTrue();
    assertThat(worker.eligible(admin.clock.nanos())).isFalse();
    JsonNode shown = json(admin.get("/workers/a:1"));
    assertThat(shown.path("cordoned").asBoolean()).isTrue();
    assertThat(shown.path("draining").asBoolean()).isTrue();
    assertThat(admin.post("/workers/a:1/uncordon").status()).isEqualTo(200);
    assertThat(worker.eligible(admin.clock.nanos())).isTrue();
  }

  @Test
  void anEngineIsCordonedWithAllItsRanks() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      admin.fleet.add(WorkerSpec.of("http://a:1").atRank(rank)).probed(true);
    }
    assertThat(admin.post("/workers/http://a:1/cordon").status()).isEqualTo(200);
    assertThat(admin.fleet.snapshot().workers()).allMatch(Worker::cordoned);
    assertThat(admin.post("/workers/a:1@1/uncordon").status()).isEqualTo(200);
    assertThat(admin.fleet.snapshot().workers())
        .extracting(Worker::cordoned)
        .containsExactly(true, false);
  }

  @Test
  void aDrainEndsWhenTheLastRequestEnds() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    List<Lease> leases = new ArrayList<>(List.of(lease(worker), lease(worker)));
    admin.atPause(
        () -> {
          if (!leases.isEmpty()) {
            leases.removeFirst().succeeded();
          }
        });
    LocalResponse drained = admin.post("/workers/a:1/drain?wait=10s");
    assertThat(drained.status()).isEqualTo(200);
    assertThat(json(drained).path("drained").asBoolean()).isTrue();
    assertThat(json(drained).path("in_flight").asInt()).isZero();
    assertThat(json(drained).path("waited_ms").asInt()).isEqualTo(40);
    assertThat(json(admin.get("/workers/a:1")).path("drained").asBoolean()).isTrue();
  }

  @Test
  void aDrainReportsAfterItsTimeHowManyRequestsRun() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    Lease running = lease(worker);
    LocalResponse answer = admin.post("/workers/a:1/drain?wait=1s");
    assertThat(answer.status()).isEqualTo(202);
    assertThat(json(answer).path("drained").asBoolean()).isFalse();
    assertThat(json(answer).path("in_flight").asInt()).isEqualTo(1);
    assertThat(worker.cordoned()).isTrue();
    running.succeeded();
    assertThat(admin.post("/workers/a:1/drain?wait=0").status()).isEqualTo(200);
  }

  @Test
  void aDrainWaitsForResponsesInTheBackground() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    worker.background().began("r");
    LocalResponse answer = admin.post("/workers/a:1/drain?wait=1s");
    assertThat(answer.status()).isEqualTo(202);
    assertThat(json(answer).path("drained").asBoolean()).isFalse();
    assertThat(json(answer).path("in_flight").asInt()).isZero();
    assertThat(json(answer).path("background").asInt()).isEqualTo(1);
    JsonNode shown = json(admin.get("/workers/a:1"));
    assertThat(shown.path("background").asInt()).isEqualTo(1);
    assertThat(shown.path("drained").asBoolean()).isFalse();

    admin.atPause(() -> worker.background().ended("r"));
    LocalResponse drained = admin.post("/workers/a:1/drain?wait=10s");
    assertThat(drained.status()).isEqualTo(200);
    assertThat(json(drained).path("waited_ms").asInt()).isEqualTo(20);
    assertThat(json(drained).path("drained").asBoolean()).isTrue();
  }

  @Test
  void aDrainEndsWhenTheWorkerLeaves() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    worker.background().began("r");
    admin.atPause(() -> admin.fleet.remove(worker));
    LocalResponse drained = admin.post("/workers/a:1/drain?wait=10s");
    assertThat(drained.status()).isEqualTo(200);
    assertThat(json(drained).path("waited_ms").asInt()).isEqualTo(20);
  }

  @Test
  void aDrainGoesOnWithAReplacementOfTheSameEngine() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    worker.background().began("r");
    WorkerSpec other = worker.spec().withLabels(Map.of("team", "x"));
    admin.atPause(() -> admin.fleet.replace(List.of(worker), List.of(other)));
    LocalResponse answer = admin.post("/workers/a:1/drain?wait=1s");
    assertThat(answer.status()).isEqualTo(202);
    assertThat(json(answer).path("background").asInt()).isEqualTo(1);
  }

  @Test
  void aDrainEndsWhenTheWorkerIsUncordoned() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    Lease running = lease(worker);
    admin.atPause(() -> worker.cordon(false));
    assertThat(admin.post("/workers/a:1/drain").status()).isEqualTo(409);
    running.succeeded();
  }

  @Test
  void weightAndLabelsChange() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    String change = "{\"weight\":2.5,\"labels\":{\"team\":\"search\",\"tier\":1}}";
    assertThat(admin.send("PATCH", "/workers/a:1", change).status()).isEqualTo(200);
    assertThat(worker.weight()).isEqualTo(2.5);
    JsonNode shown = json(admin.get("/workers/a:1"));
    assertThat(shown.path("weight").asDouble()).isEqualTo(2.5);
    assertThat(shown.path("labels").toString()).isEqualTo("{\"team\":\"search\",\"tier\":\"1\"}");
    assertThat(admin.send("PATCH", "/workers/a:1", "{\"labels\":{\"tier\":null}}").status())
        .isEqualTo(200);
    assertThat(worker.labels()).containsOnlyKeys("team");
    assertThat(worker.weight()).isEqualTo(2.5);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "{}",
        "{\"weigth\":1}",
        "{\"weight\":0}",
        "{\"weight\":\"2\"}",
        "{\"weight\":1000}",
        "{\"labels\":3}",
        "{\"labels\":{\"a\":{}}}",
        "{\"labels\":{\"zone\":\"b\"}}"
      })
  void aWrongChangeIsRefusedAndNothingChanges(String change) throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    LocalResponse answer = admin.send("PATCH", "/workers/a:1", change);
    assertThat(answer.status()).isEqualTo(400);
    assertThat(text(answer)).contains("(expected: ");
    assertThat(worker.weight()).isEqualTo(1);
    assertThat(worker.labels()).isEmpty();
  }

  @Test
  void anAddedWorkerGetsWeightAndLabels() throws Exception {
    admin.up.add("http://b:1");
    String body = "{\"url\":\"http://b:1\",\"weight\":0.5,\"labels\":{\"team\":\"x\"}}";
    assertThat(admin.send("POST", "/workers", body).status()).isEqualTo(200);
    Worker added = admin.fleet.snapshot().workers().getFirst();
    assertThat(added.weight()).isEqualTo(0.5);
    assertThat(added.labels()).containsEntry("team", "x");
    String heavy = "{\"url\":\"http://c:1\",\"weight\":1000}";
    assertThat(admin.send("POST", "/workers", heavy).status()).isEqualTo(400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/workers/b:1/cordon", "/workers/a:1/stop", "/workers/cordon"})
  void unknownWorkersAndActionsAre404(String target) throws Exception {
    admin.healthyWorker("http://a:1");
    assertThat(admin.post(target).status()).isEqualTo(404);
  }

  @ParameterizedTest
  @CsvSource({
    "/workers/a:1/drain?wiat=3s, wiat: unknown query parameter (did you mean wait?)",
    "/workers/a:1/drain?wait=0&now=1, now: unknown query parameter (expected: wait)",
    "/workers/a:1/cordon?wait=3s, wait: unknown query parameter (expected: none)",
    "/add_worker?ulr=http://b:1, ulr: unknown query parameter (did you mean url?)",
    "/remove_worker?uri=http://a:1, uri: unknown query parameter (did you mean url?)",
    "/finish_session?sesion_id=1, sesion_id: unknown query parameter (did you mean session_id?)"
  })
  void aMisspeltQueryParameterIsRefusedAndNothingChanges(String target, String message)
      throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    LocalResponse answer = admin.post(target);
    assertThat(answer.status()).as(text(answer)).isEqualTo(400);
    assertThat(text(answer)).contains(message);
    assertThat(worker.cordoned()).isFalse();
    assertThat(admin.fleet.snapshot().workers()).containsExactly(worker);
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET", "DELETE", "PATCH"})
  void anActionNeedsPost(String method) throws Exception {
    for (String action : List.of("cordon", "uncordon", "drain")) {
      LocalResponse refused = admin.send(method, "/workers/a:1/" + action, "");
      assertThat(refused.status()).isEqualTo(405);
      assertThat(refused.headers()).containsEntry("allow", "POST");
      assertThat(json(refused).path("error").path("message").asText())
          .isEqualTo("method: " + method + " (expected: POST)");
    }
    assertThat(admin.send(method, "/workers/a:1/other", "").status()).isEqualTo(404);
  }

  @Test
  void aWrongTimeIsRefused() throws Exception {
    Worker worker = admin.healthyWorker("http://a:1");
    assertThat(admin.post("/workers/a:1/drain?wait=soon").status()).isEqualTo(400);
    assertThat(worker.cordoned()).isFalse();
  }
}
