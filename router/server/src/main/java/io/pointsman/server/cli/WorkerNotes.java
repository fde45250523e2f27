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
      WorkerSpec other = byEngine.putIfAbsent(spec.base() + "@" + spec.rank(), spec);
      if (other != null) {
        notes.add(
            other.equals(spec)
                ? "worker " + spec.id() + " appears twice; it is used once"
                : "workers " + other.id() + " and " + spec.id() + " have the same engine");
      }
    }
    return notes;
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
