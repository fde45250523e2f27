package io.pointsman.server.cli;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Likely slips in the list of workers that do not keep the router from starting. */
final class WorkerNotes {
  private WorkerNotes() {}

  /** One line for each slip. */
  static List<String> of(ConfigValues values, PointsmanConfig config) {
    List<String> notes = new ArrayList<>();
    List<WorkerSpec> written = values.get(RoutingKeys.WORKERS);
    if (written.isEmpty() && !foundElsewhere(config)) {
      notes.add(
          "no workers: requests get 503 (expected: workers, kubernetes.selector"
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

  private static boolean foundElsewhere(PointsmanConfig config) {
    return config.kubernetes().enabled() || !config.peers().registrationAddress().isEmpty();
  }
}
