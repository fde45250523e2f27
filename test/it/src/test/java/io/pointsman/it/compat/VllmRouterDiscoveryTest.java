package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.net.URI;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Engines discovered as pods: flags of vllm-router, a Kubernetes API over sockets, and requests.
 */
@Timeout(180)
class VllmRouterDiscoveryTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final String CHAT =
      "{\"model\":\"m\",\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  private final KubernetesMockServer api =
      new KubernetesMockServer(
          new Context(),
          new MockWebServer(),
          new HashMap<>(),
          new KubernetesCrudDispatcher(),
          false);
  private final SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));
  private KubernetesClient pods;

  @BeforeEach
  void start() {
    api.init();
    pods = api.createClient();
  }

  @AfterEach
  void stop() {
    pods.close();
    api.destroy();
    engine.close();
  }

  private ConfigValues values(String role) {
    String flags =
        "--port 0 --prometheus-port 0 --service-discovery --selector app=vllm role="
            + role
            + " --service-discovery-namespace team --service-discovery-port "
            + URI.create(engine.url()).getPort();
    ConfigValues values = VllmRouterLauncher.translate(List.of(flags.split(" ", -1)), Map.of());
    values.set(KubernetesKeys.URL, api.url("/").replaceAll("/$", ""));
    values.set(FleetKeys.HEALTH_FIRST_RETRY, Duration.ofMillis(10));
    values.set(FleetKeys.MAX_WORKERS, 1);
    return values;
  }

  private Router router() {
    return Router.start(PointsmanConfig.from(values("serve")), "test");
  }

  /** A pod with its engine at the loopback address. */
  private static Pod pod(String ready) {
    return pod("engine-0", "serve", ready);
  }

  private static Pod pod(String name, String role, String ready) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("team")
        .withName(name)
        .addToLabels("app", "vllm")
        .addToLabels("role", role)
        .endMetadata()
        .withNewStatus()
        .withPhase("Running")
        .withPodIP("127.0.0.1")
        .addNewCondition()
        .withType("Ready")
        .withStatus(ready)
        .endCondition()
        .endStatus()
        .build();
  }

  private static HttpAnswer chat(Router router) throws Exception {
    int port = URI.create(router.url()).getPort();
    return RawClient.call(port, "POST", "/v1/chat/completions", CHAT);
  }

  private static boolean serves(Router router) {
    return router.fleet().snapshot().workers().stream().anyMatch(w -> w.health().healthy());
  }

  @Test
  void aPodServesFromReadyToItsEnd() throws Exception {
    pods.resource(pod("False")).create();
    try (Router router = router()) {
      assertThat(chat(router).status()).isEqualTo(503);
      pods.resource(pod("True")).update();
      WaitFor.until("the pod serves", LIMIT, () -> serves(router));
      HttpAnswer answer = chat(router);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isEqualTo("team/engine-0");
      pods.resource(pod("True")).delete();
      WaitFor.until("the pod is gone", LIMIT, () -> router.fleet().snapshot().workers().isEmpty());
      assertThat(chat(router).status()).isEqualTo(503);
    }
  }

  @Test
  void aReloadChangesTheSelectorOfPods() throws Exception {
    pods.resource(pod("True")).create();
    try (Router router = router()) {
      WaitFor.until("the pod serves", LIMIT, () -> serves(router));
      PointsmanConfig before = PointsmanConfig.from(values("serve"));
      ConfigValues others = values("other");

      ConfigValues tooMany = values("other");
      tooMany.set(RoutingKeys.WORKERS, List.of(WorkerSpec.of("http://127.0.0.1:1")));
      assertThatThrownBy(() -> router.change(before, PointsmanConfig.from(tooMany)))
          .isInstanceOf(IllegalStateException.class);
      assertThat(chat(router).header("x-pointsman-worker")).isEqualTo("team/engine-0");

      router.change(before, PointsmanConfig.from(others));
      WaitFor.until("the pod is left", LIMIT, () -> router.fleet().snapshot().workers().isEmpty());
      assertThat(chat(router).status()).isEqualTo(503);

      pods.resource(pod("engine-1", "other", "True")).create();
      WaitFor.until("the other pod serves", LIMIT, () -> serves(router));
      assertThat(chat(router).header("x-pointsman-worker")).isEqualTo("team/engine-1");

      ConfigValues none = values("other").set(KubernetesKeys.SELECTOR, PodSelector.NONE);
      router.change(PointsmanConfig.from(others), PointsmanConfig.from(none));
      assertThat(router.fleet().snapshot().workers()).isEmpty();
    }
  }
}
