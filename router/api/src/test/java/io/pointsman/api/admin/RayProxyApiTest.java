package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import org.junit.jupiter.api.Test;

class RayProxyApiTest {
  private final AdminFixture admin = new AdminFixture();

  @Test
  void itIsHealthyWithOneHealthyWorkerUntilItStops() throws Exception {
    admin.fleet.add(WorkerSpec.of("http://b:1"));
    assertThat(admin.get("/-/healthz").status()).isEqualTo(503);
    admin.healthyWorker("http://a:1");
    assertThat(admin.get("/-/healthz").status()).isEqualTo(200);
    assertThat(text(admin.get("/-/healthz"))).isEqualTo("success");
    admin.draining = true;
    assertThat(admin.get("/-/healthz").status()).isEqualTo(503);
  }

  @Test
  void theOneApplicationHasAllPaths() throws Exception {
    assertThat(admin.get("/-/routes").status()).isEqualTo(200);
    assertThat(text(admin.get("/-/routes"))).isEqualTo("{\"/\":\"llm_app\"}");
  }
}
