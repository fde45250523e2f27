package io.pointsman.it.compat;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers that join and leave while the router runs. */
@Timeout(120)
@Tag("full")
class VllmRouterWorkersTest {
  private static final String FLAGS = "--policy round_robin --worker-startup-timeout-secs 100";
  private static final String IMPATIENT = "--policy round_robin --worker-startup-timeout-secs 2";

  @Test
  void workersAreAddedListedAndRemoved() throws Exception {
    try (MockWorker worker = MockWorker.start("only");
        LaunchedRouter router = LaunchedRouter.start(FLAGS)) {
      assertThat(router.complete("early").statusCode()).isEqualTo(503);
      assertThat(router.post("/add_worker?url=" + worker.url()).statusCode()).isEqualTo(200);
      assertThat(router.get("/list_workers").body())
          .isEqualTo("{\"urls\":[\"" + worker.url() + "\"]}");
      assertThat(router.complete("now").statusCode()).isEqualTo(200);
      assertThat(router.post("/remove_worker?url=" + worker.url()).statusCode()).isEqualTo(200);
      assertThat(router.get("/list_workers").body()).isEqualTo("{\"urls\":[]}");
      assertThat(router.complete("late").statusCode()).isEqualTo(503);
    }
  }

  @Test
  void anUnreachableWorkerIsRefused() throws Exception {
    try (LaunchedRouter router = LaunchedRouter.start(IMPATIENT)) {
      HttpResponse<String> response = router.post("/add_worker?url=http://127.0.0.1:1");
      assertThat(response.statusCode()).isEqualTo(400);
      assertThat(router.get("/health").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void theWorkerApiUsesJson() throws Exception {
    try (MockWorker worker = MockWorker.start("only");
        LaunchedRouter router = LaunchedRouter.start(FLAGS)) {
      String encoded = URLEncoder.encode(worker.url(), StandardCharsets.UTF_8);
      assertThat(router.send("POST", "/workers", "{\"url\":\"" + worker.url() + "\"}").body())
          .startsWith("{\"success\":true");
      assertThat(router.get("/workers").body()).contains("\"url\":\"" + worker.url() + "\"");
      assertThat(router.get("/workers/" + encoded).statusCode()).isEqualTo(200);
      assertThat(router.get("/get_loads").body()).contains("\"load\":0");
      assertThat(router.send("DELETE", "/workers/" + encoded, "").statusCode()).isEqualTo(200);
      assertThat(router.get("/workers/" + encoded).statusCode()).isEqualTo(404);
    }
  }

  @Test
  void fleetOperationsAreAnswered() throws Exception {
    try (MockWorker worker = MockWorker.start("only");
        LaunchedRouter router = LaunchedRouter.start(FLAGS, worker)) {
      assertThat(router.get("/readiness").statusCode()).isEqualTo(200);
      assertThat(router.get("/liveness").body()).isEqualTo("OK");
      assertThat(router.get("/v1/models").body()).contains("\"object\":\"list\"", "\"mock\"");
      assertThat(router.post("/flush_cache").statusCode()).isEqualTo(200);
      assertThat(router.post("/finish_session?session_id=s").statusCode()).isEqualTo(200);
      assertThat(router.get("/get_server_info").body())
          .startsWith("{\"dp_size\":1,\"results\":[{\"worker\":\"");
      assertThat(router.get("/health_generate").statusCode()).isEqualTo(200);
    }
  }

  @Test
  void metricsKeepTheirNames() throws Exception {
    try (MockWorker worker = MockWorker.start("only");
        LaunchedRouter router = LaunchedRouter.start(FLAGS, worker);
        HttpClient client = HttpClient.newHttpClient()) {
      router.complete("x");
      HttpRequest scrape =
          HttpRequest.newBuilder(URI.create(String.valueOf(router.router().metricsUrl()))).build();
      String page = client.send(scrape, HttpResponse.BodyHandlers.ofString()).body();
      assertThat(page)
          .contains("vllm_router_requests_total{route=\"/v1/completions\"} 1")
          .contains("vllm_router_running_requests{worker=\"" + worker.url() + "\"} 0")
          .contains("pointsman_requests_total{code=\"200\",endpoint=\"completions\"");
    }
  }
}
