package io.pointsman.control.discovery;

import io.pointsman.engine.env.LogText;
import io.pointsman.engine.fleet.WorkerSource;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The present problems of the sources of workers. Logs a problem when it begins, changes or ends.
 * Thread-safe.
 */
public final class DiscoveryTally {
  private static final Logger log = LoggerFactory.getLogger(DiscoveryTally.class);

  /** By name within a source. Guarded by this. */
  private final Map<WorkerSource, Map<String, String>> problems = new EnumMap<>(WorkerSource.class);

  /** Guarded by this. */
  private final Map<WorkerSource, Long> failures = new EnumMap<>(WorkerSource.class);

  /**
   * Records the result of one look.
   *
   * @param name the file, the name, or another part of the source
   * @param problem the reason why nothing was changed; null if there is none
   */
  public void looked(WorkerSource source, String name, @Nullable String problem) {
    String before = put(source, name, problem);
    if (problem != null && !problem.equals(before)) {
      log.warn("{}: {}; the workers stay unchanged", LogText.of(name), LogText.of(problem));
    } else if (problem == null && before != null) {
      log.info("{}: can be used again", LogText.of(name));
    }
  }

  /** The same for a source that logs its problems itself. */
  public void failing(WorkerSource source, String name, boolean fails) {
    String _ = put(source, name, fails ? "fails" : null);
  }

  private synchronized @Nullable String put(
      WorkerSource source, String name, @Nullable String problem) {
    Map<String, String> all = problems.computeIfAbsent(source, _ -> new HashMap<>());
    if (problem == null) {
      return all.remove(name);
    }
    failures.merge(source, 1L, Long::sum);
    return all.put(name, problem);
  }

  /** Drops a part that is no longer looked at. */
  public void forget(WorkerSource source, String name) {
    String _ = put(source, name, null);
  }

  /** Number of the source's parts that fail at present. */
  public synchronized int failing(WorkerSource source) {
    return problems.getOrDefault(source, Map.of()).size();
  }

  /** Number of looks that failed. */
  public synchronized long failures(WorkerSource source) {
    return failures.getOrDefault(source, 0L);
  }
}
