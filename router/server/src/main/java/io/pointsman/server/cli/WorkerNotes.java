package io.pointsman.server.cli;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.control.names.NameWorkers;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Likely slips in the list of workers that do not keep the router from starting. */
final class WorkerNotes {
  /** Maximum number of host names that are looked up. */
  private static final int MOST_NAMES = 1000;

  private WorkerNotes() {}

  /** One line for each slip. */
  static List<String> of(ConfigValues values, PointsmanConfig config) {
    List<String> notes = new ArrayList<>();
    List<WorkerSpec> written = values.get(RoutingKeys.WORKERS);
    if (written.isEmpty() && !foundElsewhere(config)) {
      notes.add(
          "no workers: requests get 503 (expected: workers, discovery.file, discovery.dns,"
              + " kubernetes.selector"
              + (config.admin().enabled() ? ", or a worker added with POST /add_worker)" : ")"));
    }
    Map<String, WorkerSpec> byEngine = new HashMap<>();
    for (WorkerSpec spec : written) {
      WorkerSpec other = byEngine.putIfAbsent(engine(spec) + "@" + spec.rank(), spec);
      if (other != null) {
        notes.add(
            other.equals(spec)
                ? "worker " + spec.id() + " appears twice; it is used once"
                : "workers " + other.id() + " and " + spec.id() + " have the same engine");
      }
    }
    written.forEach(spec -> addWithoutRank(spec, byEngine, notes));
    return notes;
  }

  /**
   * The base URL in one spelling. Host names are equal in any case, and {@code localhost} is the
   * loopback. Other names are not looked up: one address may have several engines behind a proxy
   * that goes by the name.
   */
  private static String engine(WorkerSpec spec) {
    String base = spec.base();
    int from = base.indexOf("://") + 3;
    int slash = base.indexOf('/', from);
    int to = slash < 0 ? base.length() : slash;
    String authority = base.substring(from, to).toLowerCase(Locale.ROOT);
    String host = HostPort.ofUrl(base).host();
    if (host.equalsIgnoreCase("localhost") || host.equals("[::1]")) {
      authority = "127.0.0.1" + authority.substring(host.length());
    }
    return base.substring(0, from) + authority + base.substring(to);
  }

  /** An engine with and without ranks is two workers, which count its load apart. */
  private static void addWithoutRank(
      WorkerSpec spec, Map<String, WorkerSpec> byEngine, List<String> notes) {
    WorkerSpec whole = byEngine.get(engine(spec) + "@" + WorkerSpec.NO_RANK);
    if (spec.rank() != WorkerSpec.NO_RANK && whole != null) {
      notes.add(
          "workers "
              + whole.id()
              + " and "
              + spec.id()
              + " have the same engine, one without a rank");
    }
  }

  /**
   * One line for each host name of a configured worker that is not known now. Blocks.
   *
   * @param names looks a name up
   */
  static List<String> unknownHosts(PointsmanConfig config, NameWorkers.Names names) {
    List<String> notes = new ArrayList<>();
    Map<String, Boolean> asked = new HashMap<>();
    for (WorkerSpec spec : config.workers()) {
      String host = HostPort.ofUrl(spec.url()).bareHost();
      if (asked.size() >= MOST_NAMES && !asked.containsKey(host)) {
        break;
      }
      if (!asked.computeIfAbsent(host, name -> known(name, names))) {
        notes.add(
            "worker "
                + spec.id()
                + ": host name not known: "
                + host
                + " (expected: a name with an address; the router looks it up again)");
      }
    }
    return notes;
  }

  private static boolean known(String host, NameWorkers.Names names) {
    try {
      return !names.addresses(host).isEmpty();
    } catch (IOException _) {
      return false;
    }
  }

  private static boolean foundElsewhere(PointsmanConfig config) {
    return config.kubernetes().enabled()
        || config.discovery().enabled()
        || !config.peers().registrationAddress().isEmpty();
  }
}
