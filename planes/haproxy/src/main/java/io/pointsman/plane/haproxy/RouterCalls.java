package io.pointsman.plane.haproxy;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.api.admin.Json;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.tls.ClientTls;
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

/** Requests from the HAProxy command to the router, over persistent connections. */
final class RouterCalls implements AutoCloseable {
  /** Path where the router reports its SPOE address; 405 without one. */
  static final String WAYS = "/internal/route";

  private static final Logger log = LoggerFactory.getLogger(RouterCalls.class);
  private static final Duration TIMEOUT = Duration.ofSeconds(5);

  /** Statuses for a lease that has expired or ended in the meantime. */
  private static final Set<Integer> TOO_LATE = Set.of(404, 409);

  private final URI router;
  private final Causes logged = new Causes();

  /** Replaced as a whole. */
  private volatile Access access;

  /**
   * The key and the connections of requests.
   *
   * @param apiKey sent as bearer token; empty: none
   */
  private record Access(String apiKey, HttpClient http) {}

  /**
   * @param apiKey sent as bearer token; empty: none
   * @param tls certificates for a router with {@code https://}
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  RouterCalls(URI router, String apiKey, ClientTls tls) {
    this.router = router;
    access = access(router, apiKey, tls);
  }

  private static Access access(URI router, String apiKey, ClientTls tls) {
    HttpClient.Builder client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(1));
    if (router.getScheme().equals("https")) {
      client.sslContext(tls.context("--router"));
    } else if (!tls.equals(ClientTls.OF_JVM)) {
      throw new IllegalArgumentException(
          "--router: " + router + " with certificates (expected: https://)");
    }
    return new Access(apiKey, client.build());
  }

  /**
   * Uses another key and reads the files for TLS again, for requests that begin later.
   *
   * @throws IllegalArgumentException if a file cannot be used; nothing changes then
   */
  void use(String apiKey, ClientTls tls) {
    Access next = access(router, apiKey, tls);
    Access before = access;
    access = next;
    // Requests in progress end.
    before.http.shutdown();
  }

  RouterCalls(URI router, String apiKey) {
    this(router, apiKey, ClientTls.OF_JVM);
  }

  private HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(router.resolve(path)).timeout(TIMEOUT);
  }

  private HttpResponse<byte[]> answer(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    while (true) {
      Access by = access;
      HttpRequest.Builder keyed = request.copy();
      if (!by.apiKey.isEmpty()) {
        keyed.header("authorization", "Bearer " + by.apiKey);
      }
      try {
        return by.http.send(keyed.build(), HttpResponse.BodyHandlers.ofByteArray());
      } catch (IOException e) {
        if (by.equals(access)) {
          throw e;
        }
        // Its connections have ended, because the key was replaced just before.
      }
    }
  }

  /**
   * URLs of all workers except those for prefill, by id, in the router's order. Null if the router
   * has no workers, for example just after its start. Decode workers are included, although the
   * response does not show if they serve whole requests.
   */
  @Nullable Map<String, URI> workers() throws IOException, InterruptedException {
    HttpResponse<byte[]> answer = answer(request("/workers"));
    if (answer.statusCode() != 200) {
      throw new IOException(answer.uri() + ": status " + answer.statusCode() + hint(answer));
    }
    JsonNode known = Json.MAPPER.readTree(answer.body()).path("workers");
    if (known.isEmpty()) {
      return null;
    }
    Map<String, URI> workers = new LinkedHashMap<>();
    for (JsonNode worker : known) {
      String url = worker.path("url").asText().replaceFirst("@[0-9]+$", "");
      boolean prefill = worker.path("worker_type").asText().equals("prefill");
      boolean out = worker.path("draining").asBoolean() || worker.path("asleep").asBoolean();
      if (!prefill && !out) {
        put(workers, worker.path("id").asText(), url);
      }
    }
    return workers;
  }

  /**
   * The router's SPOE address. Null if there is none, or only one that is local to the router's
   * machine.
   */
  @Nullable InetSocketAddress spoe() throws IOException, InterruptedException {
    HttpResponse<byte[]> answer = answer(request(WAYS));
    JsonNode address =
        answer.statusCode() == 200 ? Json.MAPPER.readTree(answer.body()).path("spoe") : null;
    if (address == null || !address.path("port").canConvertToInt()) {
      return null;
    }
    InetAddress own = InetAddress.getByName(router.getHost());
    InetAddress host = InetAddress.getByName(address.path("host").asText());
    boolean here = own.isLoopbackAddress() || own.isAnyLocalAddress();
    if (host.isLoopbackAddress() && !here) {
      return null;
    }
    String name = host.isAnyLocalAddress() ? own.getHostAddress() : host.getHostAddress();
    return InetSocketAddress.createUnresolved(name, address.path("port").asInt());
  }

  private void put(Map<String, URI> workers, String id, String url) {
    try {
      workers.put(id, new URI(url));
    } catch (URISyntaxException e) {
      if (logged.isNew(url)) {
        log.warn("worker {} is ignored: {}", LogText.of(id), LogText.of(e));
      }
    }
  }

  /** Settles a lease; an expired lease is not an error. */
  void settle(String lease, String body) throws IOException, InterruptedException {
    say(lease, "settle", body);
  }

  /**
   * Renews a lease for {@code ttl} from this moment; a settled lease is not an error.
   *
   * @param answering true if a good response has begun
   * @return granted duration in ms, which may be less; 0 if not renewed or not reported
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
    HttpResponse<byte[]> answer =
        answer(
            request("/v1/leases/" + lease + "/" + what)
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    int status = answer.statusCode();
    if (status >= 300 && !TOO_LATE.contains(status) && logged.isNew(what + " " + status)) {
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
    access.http.shutdownNow();
  }
}
