package io.pointsman.app.haproxy;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.app.admin.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What HAProxy's keeper asks the router and tells it, over kept connections. */
final class RouterCalls implements AutoCloseable {
  /** Where a router tells by which other ways it can be asked; 405 if by none. */
  static final String WAYS = "/internal/route";

  private static final Logger log = LoggerFactory.getLogger(RouterCalls.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** What is said of leases that have expired or ended meanwhile. */
  private static final Set<Integer> TOO_LATE = Set.of(404, 409);

  private final URI router;
  private final String apiKey;
  private final Causes told = new Causes();
  private final HttpClient http =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(1))
          .build();

  /**
   * @param apiKey sent as bearer token; empty for none
   */
  RouterCalls(URI router, String apiKey) {
    this.router = router;
    this.apiKey = apiKey;
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(router.resolve(path)).timeout(TIMEOUT);
    return apiKey.isEmpty() ? request : request.header("authorization", "Bearer " + apiKey);
  }

  /**
   * URLs of the workers but those for prefill, by id, in the router's order; null if the router
   * knows none at all, as one that has just started. Whether those for decode may get whole
   * requests is not told.
   */
  @Nullable Map<String, URI> workers() throws IOException, InterruptedException {
    HttpRequest request = request("/workers").build();
    HttpResponse<byte[]> answer = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    if (answer.statusCode() != 200) {
      throw new IOException(request.uri() + ": status " + answer.statusCode() + hint(answer));
    }
    JsonNode known = Json.MAPPER.readTree(answer.body()).path("workers");
    if (known.isEmpty()) {
      return null;
    }
    Map<String, URI> workers = new LinkedHashMap<>();
    for (JsonNode worker : known) {
      String url = worker.path("url").asText().replaceFirst("@[0-9]+$", "");
      boolean prefill = worker.path("worker_type").asText().equals("prefill");
      if (!prefill && !worker.path("draining").asBoolean()) {
        put(workers, worker.path("id").asText(), url);
      }
    }
    return workers;
  }

  /**
   * Where HAProxy may ask the router by its own protocol; null if nowhere, or where only the
   * router's machine can.
   */
  @Nullable InetSocketAddress spoe() throws IOException, InterruptedException {
    HttpResponse<byte[]> answer =
        http.send(request(WAYS).build(), HttpResponse.BodyHandlers.ofByteArray());
    JsonNode told =
        answer.statusCode() == 200 ? Json.MAPPER.readTree(answer.body()).path("spoe") : null;
    if (told == null || !told.path("port").canConvertToInt()) {
      return null;
    }
    InetAddress own = InetAddress.getByName(router.getHost());
    InetAddress host = InetAddress.getByName(told.path("host").asText());
    boolean here = own.isLoopbackAddress() || own.isAnyLocalAddress();
    if (host.isLoopbackAddress() && !here) {
      return null;
    }
    String name = host.isAnyLocalAddress() ? own.getHostAddress() : host.getHostAddress();
    return InetSocketAddress.createUnresolved(name, told.path("port").asInt());
  }

  private void put(Map<String, URI> workers, String id, String url) {
    try {
      workers.put(id, new URI(url));
    } catch (URISyntaxException e) {
      if (told.isNew(url)) {
        log.warn("worker {} is ignored: {}", id, e.toString());
      }
    }
  }

  /** Settles a lease; one that has expired meanwhile is no fault. */
  void settle(String lease, String body) throws IOException, InterruptedException {
    say(lease, "settle", body);
  }

  /**
   * Holds a lease for {@code ttl} from now; one that was settled meanwhile is no fault.
   *
   * @param answering whether a good answer has begun
   * @return for how long it is held, in ms: the router may have cut that; 0 if it is not, or not
   *     told
   */
  long renew(String lease, Duration ttl, boolean answering)
      throws IOException, InterruptedException {
    String body = "{\"ttl_ms\":" + ttl.toMillis() + (answering ? ",\"answering\":true}" : "}");
    HttpResponse<byte[]> answer = say(lease, "renew", body);
    return answer.statusCode() == 200
        ? Json.MAPPER.readTree(answer.body()).path("expires_in_ms").asLong()
        : 0;
  }

  private HttpResponse<byte[]> say(String lease, String what, String body)
      throws IOException, InterruptedException {
    HttpRequest request =
        request("/v1/leases/" + lease + "/" + what)
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    HttpResponse<byte[]> answer = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    int status = answer.statusCode();
    if (status >= 300 && !TOO_LATE.contains(status) && told.isNew(what + " " + status)) {
      log.warn(
          "the router refuses to {} a lease: status {}{}; such leases expire. Logged once",
          what,
          status,
          hint(answer));
    }
    return answer;
  }

  private static String hint(HttpResponse<?> answer) {
    return answer.statusCode() == 401 ? " (expected: a valid --api-key)" : "";
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
