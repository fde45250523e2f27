package io.pointsman.server.wiring;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.discovery.DnsWorkers;
import io.pointsman.control.discovery.FileWorkers;
import io.pointsman.control.discovery.NettyDns;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.proxy.upstream.EngineTls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Deque;

/** Starts the sources of workers beside the configuration and Kubernetes. */
final class OtherSources {
  /** Maximum wait for one DNS server. */
  private static final Duration DNS_PATIENCE = Duration.ofSeconds(5);

  private OtherSources() {}

  /**
   * @param opened receives resources to close
   */
  static void start(
      PointsmanConfig config,
      WorkerSources sources,
      EngineTls tls,
      Ticker ticker,
      DiscoveryTally tally,
      Deque<AutoCloseable> opened) {
    DiscoverySettings settings = config.discovery();
    if (settings.file().enabled()) {
      FileWorkers file =
          new FileWorkers(
              Path.of(settings.file().path()), config.disagg(), sources, tls::prepare, tally);
      opened.push(Rounds.start("discovery-file", settings.file().interval(), file::look));
    }
    if (!settings.dns().isEmpty()) {
      opened.push(
          new DnsWorkers(settings.dns(), new NettyDns(DNS_PATIENCE), sources, ticker, tally)
              .start());
    }
  }
}
