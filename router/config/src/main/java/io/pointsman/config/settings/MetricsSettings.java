package io.pointsman.config.settings;

import static java.util.Objects.requireNonNull;

import io.pointsman.proxy.tls.ServerTlsSettings;

/**
 * Settings of the metrics server.
 *
 * @param enabled true if metrics are served
 * @param host address to listen on
 * @param port port to listen on; 0: any free port
 * @param vllmRouterNames true if metrics also have the names of vllm-router
 * @param likeProductionStack true if metrics also have the names of the vLLM production stack's
 *     router and are also served on the client port
 * @param tls TLS of the port
 */
public record MetricsSettings(
    boolean enabled,
    String host,
    int port,
    boolean vllmRouterNames,
    boolean likeProductionStack,
    ServerTlsSettings tls) {
  public static final MetricsSettings DEFAULTS =
      new MetricsSettings(true, "127.0.0.1", 29_000, false, false, ServerTlsSettings.OFF);

  public MetricsSettings {
    requireNonNull(tls, "tls");
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("port: " + port + " (expected: 0 to 65535)");
    }
  }
}
