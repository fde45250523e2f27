package io.pointsman.api.admin;

import static io.pointsman.api.admin.AdminFixture.json;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EngineIdsTest {
  private final AdminFixture admin = new AdminFixture();
  private final EngineIds ids =
      new EngineIds(admin.fleet, InstantSource.fixed(Instant.ofEpochSecond(1_700_000_000)));

  private static LocalResponse get(LocalRoutes routes, String path) throws Exception {
    return requireNonNull(requireNonNull(routes.at(path), path).forMethod("GET"), "GET")
        .handle(new LocalRequest("GET", path, "", Map.of(), new byte[0], "req-1"));
  }

  @Test
  void theIdOfAPodIsThatOfTheStack() {
    assertThat(EngineIds.named("vllm-llama3-deployment-vllm-0"))
        .hasToString("822f97e4-bee0-5996-9143-a92e48c5732f");
    assertThat(
            EngineIds.of(
                WorkerSpec.of("http://10.0.0.1:8000")
                    .withLabels(Map.of("pod", "vllm-llama3-deployment-vllm-0"))))
        .isEqualTo("822f97e4-bee0-5996-9143-a92e48c5732f");
  }

  @Test
  void anIdInTheQueryChoosesTheWorker() {
    String worker = admin.healthyWorker("http://a:1", "llama").id();
    String id = EngineIds.named("http://a:1").toString();
    assertThat(ids.worker("/v1/completions?x=1&id=" + id)).isEqualTo(worker);
    assertThat(ids.worker("/v1/completions?id=unknown")).isEqualTo("unknown");
    assertThat(ids.worker("/v1/completions?idx=" + id)).isNull();
    assertThat(ids.worker("/v1/completions")).isNull();
    admin.fleet.remove(worker);
    assertThat(ids.worker("/?id=" + id)).as("nobody has it").isEqualTo(id);
  }

  @Test
  void enginesAndVersionAreAnswered() throws Exception {
    admin.healthyWorker("http://a:1", "n", "m");
    LocalRoutes.Builder routes = LocalRoutes.builder();
    new StackApi(ids, "1.2").addTo(routes);
    JsonNode engines = json(get(routes.build(), "/engines"));
    assertThat(engines)
        .hasToString(
            "[{\"engine_id\":\""
                + EngineIds.named("http://a:1")
                + "\",\"serving_models\":[\"m\",\"n\"],\"created\":1700000000}]");
    assertThat(json(get(routes.build(), "/version")).path("version").asText()).isEqualTo("1.2");
  }
}
