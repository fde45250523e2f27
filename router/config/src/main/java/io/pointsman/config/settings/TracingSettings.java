package io.pointsman.config.settings;

import java.net.URI;
import java.util.List;
import java.util.Locale;

/**
 * Settings of request tracing.
 *
 * @param enabled true if requests are traced
 * @param endpoint URL of the collector, {@code http://} or {@code https://}
 * @param protocol protocol of the collector
 * @param samplingRatio exported share of the traces that begin here, 0 to 1; a client's trace is
 *     exported if the client exports it
 * @param excludedPaths paths that are not traced, without query string
 * @param serviceName name of the router in traces
 */
public record TracingSettings(
    boolean enabled,
    String endpoint,
    Protocol protocol,
    double samplingRatio,
    List<String> excludedPaths,
    String serviceName) {

  /** The variants of OTLP. */
  public enum Protocol {
    /** gRPC; usually port 4317. */
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

  /** True if the same exporter serves both settings. */
  public boolean exportsAs(TracingSettings other) {
    return enabled == other.enabled
        && endpoint.equals(other.endpoint)
        && protocol == other.protocol
        && serviceName.equals(other.serviceName);
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

  /** The URL for exports; for HTTP without a path it gets {@code /v1/traces}. */
  public String target() {
    String path = URI.create(endpoint).getPath();
    boolean bare = path == null || path.isEmpty() || path.equals("/");
    if (protocol == Protocol.GRPC || !bare) {
      return endpoint;
    }
    return (endpoint.endsWith("/") ? endpoint : endpoint + "/") + "v1/traces";
  }
}
