package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.json;
import static io.pointsman.api.admin.AdminFixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.ProbeState;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientIdentity.Kind;
import io.pointsman.proxy.local.LocalResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HealthApiTest {
  private final AdminFixture admin = new AdminFixture();

  @Test
  void theRouterIsAliveWithoutWorkers() throws Exception {
    assertThat(admin.get("/liveness").status()).isEqualTo(200);
    assertThat(text(admin.get("/liveness"))).isEqualTo("OK");
    assertThat(admin.get("/health").status()).isEqualTo(200);
  }

  @Test
  void itIsReadyWithOneHealthyWorker() throws Exception {
    assertThat(text(admin.get("/readiness")))
        .isEqualTo(
            "{\"status\":\"not_ready\",\"reason\":\"no healthy workers available\","
                + "\"total_workers\":0}");
    assertThat(admin.get("/readiness").status()).isEqualTo(503);
    admin.healthyWorker("http://a:1");
    admin.fleet.add(WorkerSpec.of("http://b:1"));
    assertThat(admin.get("/readiness").status()).isEqualTo(200);
    assertThat(text(admin.get("/readiness")))
        .isEqualTo("{\"status\":\"ready\",\"healthy_workers\":1,\"total_workers\":2}");
  }

  @Test
  void itIsReadyWithoutWorkersOnceRequestsWaitForThem() throws Exception {
    assertThat(admin.get("/readyz").status()).isEqualTo(503);
    admin.defers = true;
    assertThat(admin.get("/readyz").status()).isEqualTo(200);
    assertThat(admin.get("/readiness").status()).isEqualTo(200);
  }

  private LocalResponse probe(String via) throws Exception {
    return admin.get("/health", Map.of("x-pointsman-via", List.of(via)));
  }

  /** Each router counts one more than the next, so a circle without an engine is found. */
  @Test
  void aRouterThatAsksGetsTheNumberOfRoutersToAnEngine() throws Exception {
    assertThat(admin.get("/health").headers()).doesNotContainKey("x-pointsman-routers");
    assertThat(probe("a").headers()).containsEntry("x-pointsman-routers", "1");
    Worker near = admin.healthyWorker("http://a:1");
    near.probes().answeredBy("b", 3);
    assertThat(probe("a").headers()).containsEntry("x-pointsman-routers", "4");
    Worker far = admin.healthyWorker("http://b:1");
    far.probes().answeredBy("c", 8);
    assertThat(probe("b").status()).as("by way of the far one").isEqualTo(508);
    assertThat(probe("c").headers()).containsEntry("x-pointsman-routers", "4");

    near.probes().answeredBy("b", ProbeState.NO_ENGINE);
    assertThat(probe("a").status()).isEqualTo(508);
    assertThat(probe("c").status()).isEqualTo(508);
    Worker engine = admin.healthyWorker("http://c:1");
    assertThat(probe("a").headers()).containsEntry("x-pointsman-routers", "1");
    engine.probed(false);
    assertThat(admin.get("/health").status()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aRouterWithoutAnswersIsNoWayBack(boolean timeout) throws Exception {
    Worker gone = admin.healthyWorker("http://a:1");
    gone.probes().answeredBy("b", ProbeState.NO_ENGINE);
    Worker passed = admin.healthyWorker("http://b:1");
    passed.probes().answeredBy("c", 1);
    assertThat(probe("c").status()).isEqualTo(508);
    for (Worker worker : List.of(gone, passed)) {
      while (worker.health().healthy()) {
        if (timeout) {
          worker.probes().silent();
        } else {
          worker.probes().unreached(false);
        }
      }
    }
    assertThat(probe("c").status()).isEqualTo(admin.get("/health").status());
    gone.probes().answeredBy("b", ProbeState.NO_ENGINE);
    assertThat(probe("c").status()).isEqualTo(508);
  }

  @Test
  void itIsNotReadyWhileItStops() throws Exception {
    admin.healthyWorker("http://a:1");
    admin.draining = true;
    assertThat(admin.get("/readiness").status()).isEqualTo(503);
    assertThat(json(admin.get("/readiness")).path("reason").asText()).contains("stopping");
    assertThat(admin.get("/liveness").status()).isEqualTo(200);
  }

  @Test
  void healthOfWorkersFailsWhileTheRouterStops() throws Exception {
    admin.healthyWorker("http://a:1");
    admin.draining = true;
    assertThat(admin.get("/health").status()).isEqualTo(503);
    assertThat(text(admin.get("/health"))).contains("stopping");
  }

  @Test
  void aWorkerThatDrainsIsNotCounted() throws Exception {
    Worker leaving = admin.healthyWorker("http://a:1");
    leaving.drain(true);
    assertThat(admin.get("/readiness").status()).isEqualTo(503);
    assertThat(json(admin.get("/readiness")).path("total_workers").asInt()).isZero();

    Worker unwell = admin.fleet.add(WorkerSpec.of("http://b:1"));
    unwell.probed(false);
    unwell.drain(true);
    assertThat(admin.get("/health").status()).isEqualTo(200);

    leaving.drain(false);
    assertThat(admin.get("/readiness").status()).isEqualTo(200);
  }

  @Test
  void itIsReadyWhileWorkersServeDespiteSignsOfAShutdown() throws Exception {
    List<Worker> workers =
        List.of(admin.healthyWorker("http://a:1"), admin.healthyWorker("http://b:1"));
    workers.forEach(Worker::shutsDown);
    assertThat(admin.get("/readyz").status()).as("without a limit").isEqualTo(503);

    AdminFixture other = new AdminFixture();
    other.fleet.configure(FleetSettings.DEFAULTS);
    List.of(other.healthyWorker("http://a:1"), other.healthyWorker("http://b:1"))
        .forEach(Worker::shutsDown);
    assertThat(other.get("/readyz").status()).as("one stays in service").isEqualTo(200);
    assertThat(text(other.get("/workers"))).contains("\"draining\":true", "\"draining\":false");
  }

  private static AdminFixture twoRoles(boolean decodeServesWhole) {
    DisaggSettings off = DisaggSettings.DEFAULTS;
    return new AdminFixture(
        1,
        new DisaggSettings(
            "nixl",
            off.prefillPolicy(),
            off.decodePolicy(),
            new SplitSettings(0, 0, 2, 8, 0, decodeServesWhole, false, false),
            off.protocols(),
            off.stages(),
            off.indexMaxBytes()));
  }

  private static Worker ofRole(AdminFixture admin, Role role, String url) {
    return admin.fleet.add(
        new WorkerSpec(url, url, role, Set.of(), WorkerSpec.NO_RANK, 0, Map.of()));
  }

  @Test
  void prefillAloneIsNotReady() throws Exception {
    AdminFixture two = twoRoles(true);
    ofRole(two, Role.PREFILL, "http://p:1").probed(true);
    ofRole(two, Role.DECODE, "http://d:1").probed(false);

    assertThat(two.get("/readiness").status()).isEqualTo(503);
    assertThat(text(two.get("/readiness")))
        .isEqualTo(
            "{\"status\":\"not_ready\","
                + "\"reason\":\"no healthy workers for both prefill and decode\","
                + "\"total_workers\":2,\"prefill\":{\"healthy\":1,\"total\":1},"
                + "\"decode\":{\"healthy\":0,\"total\":1}}");
  }

  @Test
  void decodeAloneIsReadyIfItMayServeWholeRequests() throws Exception {
    for (boolean whole : List.of(true, false)) {
      AdminFixture two = twoRoles(whole);
      ofRole(two, Role.DECODE, "http://d:1").probed(true);
      assertThat(two.get("/readiness").status()).isEqualTo(whole ? 200 : 503);

      ofRole(two, Role.PREFILL, "http://p:1").probed(true);
      assertThat(two.get("/readiness").status()).isEqualTo(200);
    }
  }

  @Test
  void healthNeedsEveryWorker() throws Exception {
    admin.healthyWorker("http://a:1");
    assertThat(admin.get("/health").status()).isEqualTo(200);
    assertThat(text(admin.get("/health"))).isEqualTo("All servers healthy");
    Worker second = admin.fleet.add(WorkerSpec.of("http://b:1"));
    second.probes().failing("status 404 of GET /health");
    second.probed(false);
    assertThat(admin.get("/health").status()).isEqualTo(503);
    assertThat(text(admin.get("/health")))
        .isEqualTo("Unhealthy servers: [\"http://b:1\"]\nhttp://b:1: status 404 of GET /health");
  }

  private static AdminFixture answering(HealthAnswer answer) {
    return new AdminFixture(1, DisaggSettings.DEFAULTS, answer);
  }

  @Test
  void livezDependsOnTheProcessAlone() throws Exception {
    admin.draining = true;
    assertThat(admin.get("/livez").status()).isEqualTo(200);
  }

  @Test
  void readyzNamesTheModelsOrTheReasons() throws Exception {
    assertThat(admin.get("/readyz").status()).isEqualTo(503);
    assertThat(text(admin.get("/readyz")))
        .isEqualTo("{\"status\":\"not_ready\",\"reasons\":[\"no workers\"],\"total_workers\":0}");
    Worker unprobed = admin.fleet.add(WorkerSpec.of("http://a:1"));
    Worker out = admin.fleet.add(WorkerSpec.of("http://b:1"));
    for (int i = 0; i < 3; i++) {
      out.probes().failing("status 404 of GET /health");
      out.probed(false);
    }
    assertThat(json(admin.get("/readyz")).path("reasons"))
        .extracting(JsonNode::asText)
        .containsExactly("http://a:1: not probed yet", "http://b:1: status 404 of GET /health");
    unprobed.probed(true);
    admin.fleet.learnModels(unprobed, Set.of("m"));
    assertThat(text(admin.get("/readyz")))
        .isEqualTo("{\"status\":\"ready\",\"models\":[\"m\"],\"total_workers\":2}");
    unprobed.sleep(true);
    assertThat(admin.get("/readyz").status()).isEqualTo(503);
    assertThat(text(admin.get("/readyz"))).contains("http://a:1: sleeps or is paused");
    unprobed.sleep(false);
    admin.draining = true;
    assertThat(text(admin.get("/readyz"))).contains("the router is stopping");
  }

  @Test
  void aClientSeesTheModelsThatItMayUse() throws Exception {
    admin.fleet.learnModels(admin.healthyWorker("http://a:1"), Set.of("m", "m2", "other"));
    ClientIdentity some = new ClientIdentity(Kind.KEY, "some", Set.of("m2", "m3"));
    ClientIdentity all = new ClientIdentity(Kind.KEY, "all", Set.of());
    assertThat(text(admin.get("/readyz", some)))
        .isEqualTo("{\"status\":\"ready\",\"models\":[\"m2\"],\"total_workers\":1}");
    assertThat(text(admin.get("/readyz", all))).contains("[\"m\",\"m2\",\"other\"]");
    AdminFixture ready = answering(HealthAnswer.READY);
    ready.fleet.learnModels(ready.healthyWorker("http://a:1"), Set.of("m", "m2"));
    assertThat(text(ready.get("/health", some))).contains("\"models\":[\"m2\"]");
  }

  @Test
  void readyzNeedsBothRolesForOneModel() throws Exception {
    AdminFixture two = twoRoles(false);
    Worker prefill =
        two.fleet.add(WorkerSpec.of("http://p:1").withRole(Role.PREFILL).withModels(Set.of("one")));
    Worker decode =
        two.fleet.add(WorkerSpec.of("http://d:1").withRole(Role.DECODE).withModels(Set.of("two")));
    prefill.probed(true);
    decode.probed(true);
    assertThat(json(two.get("/readyz")).path("reasons").path(0).asText())
        .isEqualTo("no model has both a prefill and a decode worker");
    Worker other =
        two.fleet.add(WorkerSpec.of("http://e:1").withRole(Role.DECODE).withModels(Set.of("one")));
    other.probed(true);
    assertThat(json(two.get("/readyz")).path("models"))
        .extracting(JsonNode::asText)
        .containsExactly("one");
  }

  @Test
  void healthFollowsTheConfiguration() throws Exception {
    AdminFixture live = answering(HealthAnswer.LIVE);
    AdminFixture ready = answering(HealthAnswer.READY);
    AdminFixture all = answering(HealthAnswer.ALL);
    for (AdminFixture each : List.of(live, ready, all)) {
      Worker out = each.fleet.add(WorkerSpec.of("http://b:1"));
      for (int i = 0; i < 3; i++) {
        out.probed(false);
      }
    }
    assertThat(live.get("/health").status()).isEqualTo(200);
    assertThat(ready.get("/health").status()).isEqualTo(503);
    assertThat(all.get("/health").status()).isEqualTo(503);
    for (AdminFixture each : List.of(live, ready, all)) {
      each.healthyWorker("http://a:1", "m");
    }
    assertThat(live.get("/health").status()).isEqualTo(200);
    assertThat(ready.get("/health").status()).isEqualTo(200);
    assertThat(all.get("/health").status()).isEqualTo(503);
  }
}
