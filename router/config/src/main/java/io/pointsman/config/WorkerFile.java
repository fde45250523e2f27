package io.pointsman.config;

import static io.pointsman.config.RecordGroup.group;

import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.HealthRequestLabel;
import io.pointsman.config.value.RawValue;
import io.pointsman.config.value.Resolve;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a file with a list of workers, in YAML or JSON: the form of {@code workers} in the
 * configuration, as the whole file or under {@code workers}.
 */
public final class WorkerFile {
  private static final int MAX_DEPTH = 6;
  private static final String WORKERS = "workers";

  private WorkerFile() {}

  /**
   * The workers in a text. A text without a list is refused: an empty file is more often an
   * accident than a fleet without workers.
   *
   * @param name name of the text in messages
   * @throws ConfigException if the text is invalid
   */
  public static List<WorkerSpec> read(String name, String text, DisaggSettings disagg) {
    List<String> problems = new ArrayList<>();
    RawValue root =
        YamlTree.compose(name, text, MAX_DEPTH, problems).orElse(new RawValue.Scalar("", name));
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    if (!(list(root) instanceof RawValue.Items items)) {
      throw new ConfigException(
          root.where() + ": no list of workers (expected: a list; [] for no workers)");
    }
    ConfigValues values = new ConfigValues();
    values.read(RoutingKeys.WORKERS, items);
    List<WorkerSpec> workers = checked(name, values.get(RoutingKeys.WORKERS), disagg);
    for (WorkerSpec worker : workers) {
      if ("all".equals(worker.labels().get(Resolve.LABEL))) {
        throw new ConfigException(
            name
                + ": "
                + worker.id()
                + ": resolve: all (expected: one; a name for several workers belongs in"
                + " discovery.dns)");
      }
    }
    return workers;
  }

  private static RawValue list(RawValue root) {
    if (!(root instanceof RawValue.Entries(Map<String, RawValue> entries, _))) {
      return root;
    }
    for (String key : entries.keySet()) {
      if (!key.equals(WORKERS)) {
        throw new ConfigException(
            root.where() + ": " + key + ": unknown key (expected: workers, or a list)");
      }
    }
    return entries.getOrDefault(WORKERS, root);
  }

  /**
   * The workers without exact repetitions.
   *
   * @param name origin of the workers in messages
   * @throws ConfigException if ids repeat, or a worker does not fit the settings
   */
  static List<WorkerSpec> checked(String name, List<WorkerSpec> all, DisaggSettings disagg) {
    List<WorkerSpec> workers = all.stream().distinct().toList();
    Map<String, WorkerSpec> byId = new HashMap<>();
    for (WorkerSpec worker : workers) {
      String where = name + ": " + worker.id();
      WorkerSpec other = byId.putIfAbsent(worker.id(), worker);
      if (other != null) {
        throw new ConfigException(name + ": " + sameId(other, worker));
      }
      group(where, () -> HealthRequestLabel.of(worker));
      String problem = disagg.problem(worker);
      if (problem != null) {
        throw new ConfigException(where + ": " + problem);
      }
      String events = KvEventLabels.problem(worker.labels());
      if (!events.isEmpty()) {
        throw new ConfigException(where + ": " + events);
      }
    }
    return workers;
  }

  /**
   * The problem of two workers with one id, with the remedy.
   *
   * <p>The default id has no scheme, because it is shown where people look for a host. So {@code
   * http} and {@code https} at one port have the same.
   */
  public static String sameId(WorkerSpec first, WorkerSpec second) {
    String both =
        first.url().equals(second.url())
            ? "two workers at " + first.url()
            : first.url() + " and " + second.url();
    return second.id()
        + ": "
        + both
        + " have this id (expected: one of them, or in a file an id for each: {url: "
        + second.url()
        + ", id: NAME})";
  }
}
