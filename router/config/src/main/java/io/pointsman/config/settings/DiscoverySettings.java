package io.pointsman.config.settings;

import io.pointsman.engine.fleet.WorkerSpec;
import java.time.Duration;
import java.util.List;

/**
 * Sources of workers beside the configuration and Kubernetes.
 *
 * @param dns names with addresses or SRV records that are workers
 */
public record DiscoverySettings(FileSource file, List<DnsName> dns) {
  public static final DiscoverySettings DEFAULTS =
      new DiscoverySettings(FileSource.NONE, List.of());

  public DiscoverySettings {
    dns = List.copyOf(dns);
  }

  /** True if there is a source. */
  public boolean enabled() {
    return file.enabled() || !dns.isEmpty();
  }

  /**
   * A watched file with a list of workers.
   *
   * @param path empty: no file
   * @param interval pause between two looks at the file
   */
  public record FileSource(String path, Duration interval) {
    public static final Duration INTERVAL = Duration.ofSeconds(1);
    public static final FileSource NONE = new FileSource("", INTERVAL);

    public boolean enabled() {
      return !path.isEmpty();
    }
  }

  /**
   * A name in DNS.
   *
   * @param name the name; with {@code srv} the name of the SRV records
   * @param port port of the engine at each address; 0 with {@code srv}
   * @param srv true if the records name hosts and ports
   * @param interval longest pause between two lookups; a shorter TTL shortens it
   * @param tries number of successive answers without an address that remove its worker
   * @param worker properties of the workers; its id and URL have no meaning
   */
  public record DnsName(
      String name, int port, boolean srv, Duration interval, int tries, WorkerSpec worker) {
    public static final Duration INTERVAL = Duration.ofSeconds(30);
    public static final int TRIES = 3;

    /** The name in messages. */
    public String shown() {
      return srv ? name : name + ":" + port;
    }
  }
}
