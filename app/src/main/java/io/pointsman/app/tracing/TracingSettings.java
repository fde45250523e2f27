package io.pointsman.app.tracing;

import java.net.URI;
import java.util.List;
import java.util.Locale;

/**
 * Which requests are traced and where their traces go.
 *
 * @param enabled whether requests are traced at all
 * @param endpoint URL of the collector, {@code http://} or {@code https://}
 * @param protocol what the collector speaks there
 * @param samplingRatio share of the traces begun here that are exported, 0 to 1; a trace that the
 *     client has begun is exported if the client exports it
 * @param excludedPaths paths, without query string, of requests that are not traced
 * @param serviceName how the router is called in traces
 */
public record TracingSettings(
    boolean enabled,
    String endpoint,
    Protocol protocol,
    double samplingRatio,
    List<String> excludedPaths,
    String serviceName) {

  /** The two forms of OTLP. */
  public enum Protocol {
    /** Over gRPC; usually port 4317. */
    GRPC,
    /** Protobuf in HTTP requests; usually port 4318. */
    HTTP
  }

  public static final TracingSettings DEFAULTS =
      new TracingSettings(
          false,
          "http://localhost:4317",
          Protocol.GRPC,
          1.0,
          List.of("/health", "/health_generate", "/liveness", "/readiness"),
          "pointsman");

  public TracingSettings {
    excludedPaths = List.copyOf(excludedPaths);
    if (!isUrl(endpoint)) {
      throw new IllegalArgumentException(
          "endpoint: " + endpoint + " (expected: http://host:port or https://host:port)");
    }
    if (!(samplingRatio >= 0 && samplingRatio <= 1)) {
      throw new IllegalArgumentException("samplingRatio: " + samplingRatio + " (expected: 0 to 1)");
    }
    if (serviceName.isBlank()) {
      throw new IllegalArgumentException("serviceName: '" + serviceName + "' (expected: a name)");
    }
  }

  private static boolean isUrl(String url) {
    try {
      URI uri = URI.create(url);
      String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
      return (scheme.equals("http") || scheme.equals("https")) && uri.getHost() != null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  /** Where spans are sent: over HTTP that is {@code /v1/traces} unless a path is given. */
  String target() {
    String path = URI.create(endpoint).getPath();
    boolean bare = path == null || path.isEmpty() || path.equals("/");
    if (protocol == Protocol.GRPC || !bare) {
      return endpoint;
    }
    return (endpoint.endsWith("/") ? endpoint : endpoint + "/") + "v1/traces";
  }
}
