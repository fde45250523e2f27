package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients with keys that another server validates. */
@Timeout(120)
@Tag("full")
class VllmRouterKeysTest {
  private static MockWorker keysOf(String key) throws IOException {
    MockWorker keys = MockWorker.start("keys");
    keys.apiKey = key;
    return keys;
  }

  @Test
  void onlyConfirmedKeysAreAdmitted() throws Exception {
    try (MockWorker worker = MockWorker.start("worker");
        MockWorker keys = keysOf("good");
        LaunchedRouter router =
            LaunchedRouter.startBehind(
                "Bearer good",
                "--policy round_robin --api-key-validation-urls " + keys.url() + "/check",
                worker)) {
      HttpResponse<String> none = router.complete("x");
      assertThat(none.statusCode()).isEqualTo(401);
      assertThat(none.body()).contains("\"code\":\"invalid_api_key\"");
      assertThat(none.headers().firstValue("x-request-id")).isPresent();
      assertThat(router.complete("x", "Authorization", "Bearer bad").statusCode()).isEqualTo(401);
      assertThat(router.get("/workers").statusCode()).isEqualTo(401);
      String large = "x".repeat(300_000);
      for (int i = 0; i < 3; i++) {
        assertThat(router.complete(large, "Authorization", "Bearer good").statusCode())
            .isEqualTo(200);
      }
      assertThat(worker.requests()).isEqualTo(3);
    }
  }
}
