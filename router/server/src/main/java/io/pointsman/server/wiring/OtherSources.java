package io.pointsman.server.wiring;

import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.config.settings.DiscoverySettings.FileSource;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.discovery.DnsWorkers;
import io.pointsman.control.discovery.FileWorkers;
import io.pointsman.control.discovery.NettyDns;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.proxy.upstream.EngineTls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sources of workers beside the configuration and Kubernetes. They may change at run time; a
 * worker that both the old and the new source have stays as it is. Thread-safe.
 */
final class OtherSources implements AutoCloseable {
  /** Maximum wait for one DNS server. */
  private static final Duration DNS_PATIENCE = Duration.ofSeconds(5);

  private final WorkerSources sources;
  private final EngineTls tls;
  private final Ticker ticker;
  private final DiscoveryTally tally;

  /** The sources in use. Guarded by this, like the following fields. */
  private DiscoverySettings present = DiscoverySettings.DEFAULTS;

  private DisaggSettings disagg;
  private @Nullable FileWorkers file;
  private @Nullable Rounds looks;
  private @Nullable DnsWorkers dns;

  OtherSources(
      DisaggSettings disagg,
      WorkerSources sources,
      EngineTls tls,
      Ticker ticker,
      DiscoveryTally tally) {
    this.disagg = disagg;
    this.sources = sources;
    this.tls = tls;
    this.ticker = ticker;
    this.tally = tally;
  }

  /**
   * Uses these sources, in place of earlier ones. The workers of an earlier file stay until the new
   * one can be read.
   *
   * @param nextDisagg determines the roles that workers of a file may have
   */
  synchronized void use(DiscoverySettings next, DisaggSettings nextDisagg) {
    DiscoverySettings before = present;
    present = next;
    disagg = nextDisagg;
    if (file != null) {
      file.use(nextDisagg);
    }
    if (!next.file().equals(before.file())) {
      closeFile();
      follow(next.file(), before.file().enabled());
    }
    if (!next.dns().equals(before.dns())) {
      follow(next.dns());
    }
  }

  private void follow(FileSource next, boolean had) {
    if (next.enabled()) {
      FileWorkers opened =
          new FileWorkers(Path.of(next.path()), disagg, sources, tls::prepare, tally);
      file = opened;
      looks = Rounds.start("discovery-file", next.interval(), opened::look);
    } else if (had) {
      sources.follow(WorkerSource.FILE, List.of(), false);
    }
  }

  private void follow(List<DnsName> next) {
    DnsWorkers before = dns;
    closeDns();
    if (!next.isEmpty()) {
      DnsWorkers opened = new DnsWorkers(next, new NettyDns(DNS_PATIENCE), sources, ticker, tally);
      dns = (before == null ? opened : opened.after(before)).start();
    } else if (before != null) {
      sources.follow(WorkerSource.DNS, List.of(), false);
    }
  }

  private void closeFile() {
    if (looks != null) {
      looks.close();
      looks = null;
    }
    if (file != null) {
      file.close();
      file = null;
    }
  }

  private void closeDns() {
    if (dns != null) {
      dns.close();
      dns = null;
    }
  }

  /** Ends the looks. The workers stay. */
  @Override
  public synchronized void close() {
    closeFile();
    closeDns();
  }
}
