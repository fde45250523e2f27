package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpResponse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@code --backend openai}: one server that identifies clients by their keys. */
@Timeout(120)
@Tag("full")
class VllmRouterOpenAiTest {
  @Test
  void eachClientsOwnKeyReachesAServerThatRequiresOne() throws Exception {
    try (MockWorker server = MockWorker.start("provider")) {
      server.apiKey = "mine";
      server.modelsWantKey = true;
      try (LaunchedRouter router = LaunchedRouter.start("--backend openai", server)) {
        HttpResponse<String> served = router.complete("x", "Authorization", "Bearer mine");
        assertThat(served.statusCode()).isEqualTo(200);
        assertThat(router.complete("x", "Authorization", "Bearer other").statusCode())
            .isEqualTo(401);
        assertThat(router.complete("x").statusCode()).isEqualTo(401);
      }
    }
  }

  @Test
  void theListOfModelsIsTheServersResponseForTheClientsKey() throws Exception {
    try (MockWorker server = MockWorker.start("provider")) {
      server.apiKey = "mine";
      server.modelsWantKey = true;
      try (LaunchedRouter router = LaunchedRouter.start("--backend openai", server)) {
        assertThat(router.get("/v1/models").statusCode()).isEqualTo(401);
        HttpResponse<String> list =
            router.send("GET", "/v1/models", "", "Authorization", "Bearer mine");
        assertThat(list.statusCode()).isEqualTo(200);
        assertThat(list.body()).contains("\"mock\"");
      }
    }
  }
}
