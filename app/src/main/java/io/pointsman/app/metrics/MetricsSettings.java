package io.pointsman.app.metrics;

/**
 * Where metrics are served.
 *
 * @param enabled whether they are served at all
 * @param host address to listen on
 * @param port port to listen on; 0 for any free one
 * @param vllmRouterNames whether they are served under the names of vllm-router too
 * @param likeProductionStack whether they are served as by the router of the vLLM production stack
 *     too: under its names, and on the port of the clients
 */
public record MetricsSettings(
    boolean enabled, String host, int port, boolean vllmRouterNames, boolean likeProductionStack) {
  public static final MetricsSettings DEFAULTS =
      new MetricsSettings(true, "127.0.0.1", 29_000, false, false);

  public MetricsSettings {
    if (port < 0 || port > 65_535) {
      throw new IllegalArgumentException("port: " + port + " (expected: 0 to 65535)");
    }
  }
}
