package io.pointsman.api.admin;

import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineTlsSettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Adds workers to the running fleet and removes them. An addition blocks the caller's virtual
 * thread until the first good probe of the worker. The number of concurrent additions is unlimited.
 */
public final class Membership {
  private static final Duration LOOK = Duration.ofMillis(20);

  /** Pauses the calling thread. */
  @FunctionalInterface
  public interface Pause {
    void pause(Duration time) throws InterruptedException;
  }

  private final Fleet fleet;
  private volatile AdminSettings settings;
  private volatile DisaggSettings disagg;
  private final Ticker ticker;
  private final Pause pause;
  private final WorkerOrigins origins;
  private final Set<Worker> joining = ConcurrentHashMap.newKeySet();

  /** Admits workers of every address. */
  public Membership(
      Fleet fleet, AdminSettings settings, DisaggSettings disagg, Ticker ticker, Pause pause) {
    this(fleet, settings, disagg, ticker, pause, WorkerOrigins.ANY);
  }

  public Membership(
      Fleet fleet,
      AdminSettings settings,
      DisaggSettings disagg,
      Ticker ticker,
      Pause pause,
      WorkerOrigins origins) {
    this.origins = origins;
    this.fleet = fleet;
    this.settings = settings;
    this.disagg = disagg;
    this.ticker = ticker;
    this.pause = pause;
  }

  /** Uses other settings for workers that are added later. Any thread. */
  public void use(AdminSettings next, DisaggSettings nextDisagg) {
    settings = next;
    disagg = nextDisagg;
  }

  /**
   * The reason why nobody may add an engine at {@code url}; null if it may be added, or is invalid.
   */
  @Nullable String forbidden(String url) {
    String base = WorkerUrls.trimmed(url);
    return WorkerUrls.problem(base) == null ? origins.refusal(base) : null;
  }

  /**
   * Adds the engine at {@code url} with all of its data-parallel ranks, and waits until each is
   * healthy. If one is not healthy within {@link AdminSettings#addTimeout()}, all workers added
   * here are removed again. A worker for the same engine and rank is not added twice, even under
   * another id. If another caller is still adding it, this call waits for it too.
   *
   * @param models models that the engine serves; empty: the router reads them from the engine
   * @return the problem; null if the workers were added or are already present
   */
  public @Nullable String add(String url, Set<String> models) throws InterruptedException {
    return add(url, models, Role.REGULAR, Map.of());
  }

  /**
   * Adds an engine of any role, like {@link #add(String, Set)}.
   *
   * @param labels further facts about the engine, see {@code PeerLabels}
   */
  public @Nullable String add(String url, Set<String> models, Role role, Map<String, String> labels)
      throws InterruptedException {
    String base = WorkerUrls.trimmed(url);
    String problem = WorkerUrls.problem(base);
    if (problem != null) {
      return "url: " + problem;
    }
    problem = origins.refusal(base);
    if (problem != null) {
      return problem;
    }
    WorkerSpec described = WorkerSpec.of(base).withModels(models).withRole(role).withLabels(labels);
    WorkerSpec whole = origins.restricted(described);
    problem = disagg.problem(whole);
    if (problem == null) {
      problem = tlsProblem(labels);
    }
    return problem == null ? join(base, specs(whole)) : problem;
  }

  private static @Nullable String tlsProblem(Map<String, String> labels) {
    try {
      EngineTlsSettings _ = EngineTlsSettings.DEFAULTS.with(labels);
      return null;
    } catch (IllegalArgumentException e) {
      return "labels: " + e.getMessage();
    }
  }

  private @Nullable String join(String base, List<WorkerSpec> specs) throws InterruptedException {
    List<Worker> added = new ArrayList<>();
    List<Worker> awaited = new ArrayList<>();
    try {
      for (WorkerSpec spec : missing(specs, awaited)) {
        Worker worker = fleet.add(spec);
        joining.add(worker);
        added.add(worker);
      }
      awaited.addAll(added);
      if (awaitHealthy(awaited)) {
        return null;
      }
      String problem = "worker " + base + end(awaited) + reasons(awaited);
      added.forEach(fleet::remove);
      return problem;
    } catch (IllegalStateException e) {
      added.forEach(fleet::remove);
      return String.valueOf(e.getMessage());
    } finally {
      added.forEach(joining::remove);
    }
  }

  /** Why the wait for workers ended although one of them is not healthy. */
  private String end(List<Worker> workers) {
    return workers.stream().anyMatch(Worker::withdrawn)
        ? " was removed before it was healthy"
        : " did not become healthy within " + settings.addTimeout().toSeconds() + " s";
  }

  private static String reasons(List<Worker> workers) {
    return workers.stream()
        .map(worker -> worker.health().reason())
        .filter(reason -> !reason.isEmpty())
        .findFirst()
        .map(reason -> ": " + reason)
        .orElse("");
  }

  /**
   * The specs that are not in the fleet.
   *
   * @param joiners receives the present workers that another caller is still adding
   * @throws IllegalStateException if the fleet has one of them with another description
   */
  private List<WorkerSpec> missing(List<WorkerSpec> specs, List<Worker> joiners) {
    List<WorkerSpec> missing = new ArrayList<>();
    for (WorkerSpec spec : specs) {
      Worker present = fleet.snapshot().sameEngine(spec);
      if (present == null) {
        missing.add(spec);
      } else if (!described(present.spec()).equals(described(spec))) {
        throw new IllegalStateException(
            described(spec)
                + " (expected: "
                + described(present.spec())
                + ", because worker "
                + present.id()
                + " is in the fleet with these; remove it first, or list both in a file, with an id"
                + " for each)");
      } else if (!mayServe(present, spec.models())) {
        throw new IllegalStateException(
            "model_id: "
                + String.join(", ", spec.models())
                + " (expected: one of "
                + new TreeSet<>(present.models())
                + ", which are the models of worker "
                + present.id()
                + ")");
      } else if (joining(present)) {
        joiners.add(present);
      }
    }
    return missing;
  }

  /** True unless the worker is known not to serve one of the models. */
  private static boolean mayServe(Worker present, Set<String> models) {
    Set<String> served = present.models();
    return served.isEmpty() || served.containsAll(models);
  }

  private static String described(WorkerSpec spec) {
    return "url: " + spec.url() + ", worker_type: " + WorkersApi.name(spec.role());
  }

  private List<WorkerSpec> specs(WorkerSpec whole) {
    int size = settings.dataParallelSize();
    if (size == 1) {
      return List.of(whole);
    }
    List<WorkerSpec> ranks = new ArrayList<>();
    for (int rank = 0; rank < size; rank++) {
      ranks.add(whole.atRank(rank));
    }
    return ranks;
  }

  private boolean awaitHealthy(List<Worker> workers) throws InterruptedException {
    long deadline = ticker.nanos() + settings.addTimeout().toNanos();
    while (!workers.stream().allMatch(worker -> worker.health().healthy())) {
      boolean removed = workers.stream().anyMatch(Worker::withdrawn);
      if (removed || ticker.nanos() - deadline >= 0) {
        return false;
      }
      pause.pause(LOOK);
    }
    return true;
  }

  /**
   * Removes every worker that {@code url} names; requests in flight on them continue to their end.
   *
   * @return number of removed workers
   */
  public int remove(String url) {
    String base = WorkerUrls.trimmed(url);
    int removed = 0;
    for (Worker worker : fleet.snapshot().workers()) {
      if (WorkerUrls.names(base, worker) && fleet.remove(worker)) {
        removed++;
      }
    }
    return removed;
  }

  /** True while {@link #add} waits for the worker's first good probe. */
  boolean joining(Worker worker) {
    return joining.contains(worker);
  }
}
