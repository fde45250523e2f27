package io.pointsman.app.haproxy;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.app.admin.Json;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** What HAProxy's keeper asks the router and tells it, over kept connections. */
final class RouterCalls implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  private final URI router;
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(1))
          .build();

  RouterCalls(URI router) {
    this.router = router;
  }

  /** URLs of the workers that may get whole requests, by id, in the router's order. */
  Map<String, URI> workers() throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(router.resolve("/workers")).timeout(TIMEOUT).build();
    HttpResponse<byte[]> answer = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (answer.statusCode() != 200) {
      throw new IOException(request.uri() + ": status " + answer.statusCode());
    }
    Map<String, URI> workers = new LinkedHashMap<>();
    for (JsonNode worker : Json.MAPPER.readTree(answer.body()).path("workers")) {
      String url = worker.path("url").asText().replaceFirst("@[0-9]+$", "");
      boolean prefill = worker.path("worker_type").asText().equals("prefill");
      if (!prefill && !worker.path("draining").asBoolean()) {
        workers.put(worker.path("id").asText(), URI.create(url));
      }
    }
    return workers;
  }

  /** Settles a lease; one that has expired meanwhile is no fault. */
  void settle(String lease, String body) throws IOException, InterruptedException {
    say(lease, "settle", body);
  }

  /** Holds a lease for {@code ttl} from now; one that was settled meanwhile is no fault. */
  void renew(String lease, Duration ttl) throws IOException, InterruptedException {
    say(lease, "renew", "{\"ttl_ms\":" + ttl.toMillis() + "}");
  }

  private void say(String lease, String what, String body)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(router.resolve("/v1/leases/" + lease + "/" + what))
            .timeout(TIMEOUT)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    http.send(request, HttpResponse.BodyHandlers.discarding());
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
