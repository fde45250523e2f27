package io.pointsman.batch;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.reply.Rejections;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to the router's own port, so they are queued, placed, retried and counted like
 * those of other clients.
 */
final class RouterCaller implements LineCaller, AutoCloseable {
  private static final Duration CONNECT = Duration.ofSeconds(10);

  private volatile String apiKey;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final OwnCertificate certificate;
  private final HttpClient http;

  private volatile @Nullable URI router;

  /**
   * @param apiKey bearer token; empty: none
   * @param certificateFile file with the certificate of the router's port; empty: it has no TLS
   * @throws IllegalArgumentException if the file has no certificate
   */
  RouterCaller(String apiKey, String certificateFile) {
    this.apiKey = apiKey;
    certificate = new OwnCertificate(certificateFile);
    http =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT)
            .executor(threads)
            .sslContext(certificate.context())
            .build();
  }

  /** Uses another key for requests that begin later; empty: none. */
  void use(String key) {
    apiKey = key;
  }

  /**
   * Sets the router's address for requests that begin later.
   *
   * @param certificateFile file with the certificate of the router's port; empty: it has no TLS
   */
  void router(URI address, String certificateFile) {
    certificate.use(certificateFile);
    router = address;
  }

  @Override
  public Answer post(String path, String requestId, String secret, String body, Duration timeout)
      throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(requireNonNull(router, "router").resolve(path))
            .timeout(timeout)
            .header("content-type", "application/json")
            .header("x-request-id", requestId)
            .POST(HttpRequest.BodyPublishers.ofString(body));
    if (!secret.isEmpty()) {
      request.header(BatchClients.HEADER, secret);
    }
    String key = apiKey;
    if (!key.isEmpty()) {
      request.header("authorization", "Bearer " + key);
    }
    HttpResponse<InputStream> response =
        http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
    try (InputStream in = response.body()) {
      byte[] bytes = in.readNBytes(MOST_BYTES + 1);
      return new Answer(
          response.statusCode(),
          response.headers().firstValue("retry-after").orElse(null),
          response.headers().firstValue(Rejections.LIMIT_HEADER).orElse(null),
          response.headers().firstValue("x-request-id").orElse(requestId),
          bytes.length > MOST_BYTES ? null : new String(bytes, StandardCharsets.UTF_8));
    }
  }

  @Override
  public void close() {
    http.shutdownNow();
    threads.shutdownNow();
  }
}
