package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.dnsNames;

import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.config.settings.DiscoverySettings.FileSource;
import io.pointsman.config.value.FileSourceType;
import java.util.List;

/** Keys of the sources of workers beside the configuration and Kubernetes. */
public final class DiscoveryKeys {
  private static final DiscoverySettings DEFAULTS = DiscoverySettings.DEFAULTS;

  public static final Key<FileSource> FILE =
      Key.of(
          "discovery.file",
          new FileSourceType(),
          DEFAULTS.file(),
          "File with a list of further workers, in YAML or JSON, in the form of `workers`. The"
              + " router reads it every second, or at the `interval` in `{path: F, interval: 5s}`.",
          "Empty: no file. A file that is missing or broken changes nothing; the log and"
              + " `pointsman_discovery_failing` report it.");

  public static final Key<List<DnsName>> DNS =
      Key.of(
          "discovery.dns",
          dnsNames(),
          DEFAULTS.dns(),
          "Names in DNS that stand for workers: each address of `{name: N, port: P}`, or each SRV"
              + " record of `{name: N, srv: true}`. Further keys: `interval` (default 30s), `tries`"
              + " (default 3), and those of a worker, such as `model`, `role`, `labels`.",
          "If the TTL of an answer is shorter than `interval`, the router asks again when it ends."
              + " A worker leaves after `tries` answers in a row without it. A failed lookup"
              + " changes nothing.");

  private DiscoveryKeys() {}

  static List<Key<?>> all() {
    return List.of(FILE, DNS);
  }
}
