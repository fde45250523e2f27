package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.text;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.local.LocalResponse;
import org.junit.jupiter.api.Test;

class MaintenanceApiTest {
  private final AdminFixture admin = new AdminFixture();

  @Test
  void everyEngineIsFlushedOnce() throws Exception {
    admin.fleet.add(WorkerSpec.of("http://a:1").atRank(0));
    admin.fleet.add(WorkerSpec.of("http://a:1").atRank(1));
    admin.fleet.add(WorkerSpec.of("http://b:1"));
    admin.engineStatus.put("http://a:1/flush_cache", 200);
    admin.engineStatus.put("http://b:1/flush_cache", 200);
    LocalResponse response = admin.post("/flush_cache");
    assertThat(response.status()).isEqualTo(200);
    assertThat(text(response)).isEqualTo("Cache flushed on all servers");
    assertThat(admin.asked)
        .containsExactlyInAnyOrder("POST http://a:1/flush_cache", "POST http://b:1/flush_cache");
  }

  @Test
  void anEngineWithAnotherFlushPathIsFlushed() throws Exception {
    admin.healthyWorker("http://a:1");
    admin.engineStatus.put("http://a:1/reset_prefix_cache", 200);
    assertThat(admin.post("/flush_cache").status()).isEqualTo(200);
  }

  @Test
  void aFailingEngineIsReported() throws Exception {
    admin.healthyWorker("http://a:1");
    admin.healthyWorker("http://b:1");
    admin.engineStatus.put("http://a:1/flush_cache", 200);
    admin.engineStatus.put("http://b:1/flush_cache", 500);
    LocalResponse response = admin.post("/flush_cache");
    assertThat(response.status()).isEqualTo(500);
    assertThat(text(response)).contains("http://b:1: status 500").doesNotContain("http://a:1");
    assertThat(admin.asked).doesNotContain("POST http://b:1/reset_prefix_cache");
  }

  @Test
  void aFinishedSessionIsNotKept() throws Exception {
    admin.healthyWorker("http://a:1");
    RoutingEngine engine =
        new RoutingEngine(
            admin.fleet,
            admin.policy,
            EngineSettings.DEFAULTS,
            new NoListener(),
            admin.clock::nanos,
            bound -> 0);
    AffinityKey key = new AffinityKey(AffinityKey.Kind.SESSION, "header:x-session-id", "s1");
    Decision decision = engine.decide(RoutingRequest.builder().affinity(key).build());
    ((Decision.Routed) decision).lease().succeeded();
    assertThat(admin.sessions.size()).isEqualTo(1);
    admin.post("/finish_session?session_id=other");
    assertThat(admin.sessions.size()).isEqualTo(1);
    admin.post("/finish_session?session_id=s1");
    assertThat(admin.sessions.size()).isZero();
  }

  @Test
  void finishingASessionNamesIt() throws Exception {
    LocalResponse response = admin.post("/finish_session?session_id=a%20b");
    assertThat(response.status()).isEqualTo(200);
    assertThat(text(response)).isEqualTo("{\"status\":\"ok\",\"session_id\":\"a b\"}");
  }

  @Test
  void finishingNoSessionIsRefused() throws Exception {
    assertThat(admin.post("/finish_session").status()).isEqualTo(400);
    assertThat(admin.post("/finish_session?session_id=").status()).isEqualTo(400);
  }

  @Test
  void programSchedulingIsNotSupported() throws Exception {
    LocalResponse response = admin.get("/scheduling/diagnostics");
    assertThat(response.status()).isEqualTo(404);
    assertThat(text(response)).startsWith("{\"enabled\":false");
  }

  private static final class NoListener implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {}
  }
}
