package io.pointsman.app.admin;

import static io.pointsman.app.admin.AdminFixture.json;
import static io.pointsman.app.admin.AdminFixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import org.junit.jupiter.api.Test;

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
  void itIsNotReadyWhileItStops() throws Exception {
    admin.healthyWorker("http://a:1");
    admin.draining = true;
    assertThat(admin.get("/readiness").status()).isEqualTo(503);
    assertThat(json(admin.get("/readiness")).path("reason").asText()).contains("stopping");
    assertThat(admin.get("/liveness").status()).isEqualTo(200);
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
  void healthNeedsEveryWorker() throws Exception {
    admin.healthyWorker("http://a:1");
    assertThat(admin.get("/health").status()).isEqualTo(200);
    assertThat(text(admin.get("/health"))).isEqualTo("All servers healthy");
    admin.fleet.add(WorkerSpec.of("http://b:1")).probed(false);
    assertThat(admin.get("/health").status()).isEqualTo(503);
    assertThat(text(admin.get("/health"))).isEqualTo("Unhealthy servers: [\"http://b:1\"]");
  }
}
