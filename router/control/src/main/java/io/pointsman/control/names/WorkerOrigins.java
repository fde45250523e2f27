package io.pointsman.control.names;

import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Rules for workers that somebody adds at run time: their addresses, and if they get the engines'
 * key. Any thread.
 */
public final class WorkerOrigins {
  /** Admits every address with the key. */
  public static final WorkerOrigins ANY = new WorkerOrigins(null, List.of(), List::of);

  private volatile Rules rules;
  private final Supplier<? extends Collection<WorkerSpec>> configured;

  /**
   * The rules.
   *
   * @param networks null: all hosts
   * @param keyOrigins normalised URLs
   */
  private record Rules(@Nullable WorkerNetworks networks, List<String> keyOrigins) {
    static Rules of(@Nullable WorkerNetworks networks, List<String> keyOrigins) {
      return new Rules(networks, keyOrigins.stream().map(WorkerOrigins::origin).toList());
    }
  }

  /**
   * @param networks admitted hosts besides those of configured workers; null: all
   * @param keyOrigins URLs of workers that get the key besides configured ones
   * @param configured the workers in the present configuration
   */
  public WorkerOrigins(
      @Nullable WorkerNetworks networks,
      List<String> keyOrigins,
      Supplier<? extends Collection<WorkerSpec>> configured) {
    rules = Rules.of(networks, keyOrigins);
    this.configured = configured;
  }

  /** Uses other rules for workers that are added later; workers in the fleet stay. */
  public void use(WorkerNetworks networks, List<String> keyOrigins) {
    rules = Rules.of(networks, keyOrigins);
  }

  /** True if a host is one of the admitted ones. */
  public boolean inNetworks(String host) {
    WorkerNetworks networks = rules.networks;
    return networks == null || networks.contains(host);
  }

  /**
   * The reason why a worker cannot be added; null if it can.
   *
   * @param url a valid base URL
   */
  public @Nullable String refusal(String url) {
    String host = host(url);
    WorkerNetworks networks = rules.networks;
    boolean admitted =
        networks == null
            || networks.contains(host)
            || configured.get().stream().anyMatch(each -> host(each.url()).equals(host));
    return admitted
        ? null
        : "url: "
            + url
            + " is outside of admin.worker-networks (expected: an address or a name of that list,"
            + " or the host of a configured worker)";
  }

  /** The worker without a right to the engines' key, unless its origin is configured. */
  public WorkerSpec restricted(WorkerSpec added) {
    String origin = origin(added.url());
    Rules present = rules;
    boolean known =
        present.networks == null
            || present.keyOrigins.contains(origin)
            || configured.get().stream().anyMatch(each -> origin(each.url()).equals(origin));
    if (known) {
      return added;
    }
    Map<String, String> labels = new HashMap<>(added.labels());
    labels.put(EngineKeys.LABEL, EngineKeys.WITHHELD);
    return added.withLabels(labels);
  }

  private static String host(String url) {
    return HostPort.ofUrl(url).bareHost().toLowerCase(Locale.ROOT);
  }

  /** Scheme, host and port. */
  private static String origin(String url) {
    boolean tls = url.toLowerCase(Locale.ROOT).startsWith("https:");
    return (tls ? "https://" : "http://")
        + host(url)
        + ":"
        + HostPort.ofUrl(url).portOr(tls ? 443 : 80);
  }
}
