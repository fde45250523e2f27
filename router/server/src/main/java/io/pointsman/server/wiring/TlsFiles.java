package io.pointsman.server.wiring;

import io.pointsman.config.ConfigException;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.proxy.upstream.EngineTls;
import java.util.ArrayList;
import java.util.List;

/** Check of the files of TLS without a listener or a connection. */
public final class TlsFiles {
  private TlsFiles() {}

  /**
   * Reads the files of all listeners and of the connections to workers, as the start does.
   *
   * @throws ConfigException with all groups of files that cannot be used
   */
  public static void check(PointsmanConfig config) {
    ListenSettings listen = config.proxy().listen();
    TlsProvider provider = listen.tlsProvider();
    boolean http2 = listen.http2().enabled();
    List<String> problems = new ArrayList<>();
    attempt(problems, () -> listener("tls", listen.tls(), http2, provider));
    attempt(problems, () -> listener("admin-tls", config.access().tls(), false, provider));
    attempt(
        problems,
        () -> listener("metrics-tls", Listeners.ofMetrics(config), false, TlsProvider.JDK));
    attempt(problems, () -> engines(config, provider));
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
  }

  private static void attempt(List<String> problems, Runnable read) {
    try {
      read.run();
    } catch (IllegalArgumentException e) {
      problems.add(String.valueOf(e.getMessage()));
    }
  }

  private static void listener(
      String group, ServerTlsSettings settings, boolean http2, TlsProvider provider) {
    ListenerTls.open(group, settings, http2, provider).close();
  }

  private static void engines(PointsmanConfig config, TlsProvider provider) {
    try (EngineTls tls =
        new EngineTls(config.engineTls(), EngineAssembly.systemCaFile(), provider)) {
      tls.prepare(config.workers());
    }
  }
}
