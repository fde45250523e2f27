package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.value.RawValue;
import io.pointsman.config.value.ValueType;
import io.pointsman.config.value.ValueTypes;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Maintenance of a worker that stays in the fleet: {@code POST /workers/{url}/cordon}, {@code
 * /uncordon}, {@code /drain}, and {@code PATCH /workers/{url}} for its weight and labels. A
 * cordoned worker gets no new requests; those in flight finish. A drain waits for them, and for the
 * responses that the engine computes in the background.
 */
public final class CordonApi {
  private static final Logger log = LoggerFactory.getLogger(CordonApi.class);

  private static final String WORKERS = "/workers/";
  private static final String ACTIONS = "/cordon, /uncordon or /drain";
  private static final List<String> NAMES = List.of("cordon", "uncordon", "drain");
  private static final Duration LOOK = Duration.ofMillis(20);
  private static final Duration USUAL_WAIT = Duration.ofSeconds(30);
  private static final ValueType<Duration> WAIT =
      ValueTypes.duration(Duration.ZERO, Duration.ofHours(24));

  private final Fleet fleet;
  private final WorkersApi described;
  private final Ticker ticker;
  private final Membership.Pause pause;

  /**
   * @param described shows workers
   * @param pause waits between two looks at a worker that drains
   */
  public CordonApi(Fleet fleet, WorkersApi described, Ticker ticker, Membership.Pause pause) {
    this.fleet = fleet;
    this.described = described;
    this.ticker = ticker;
    this.pause = pause;
  }

  /** True if a path below {@code /workers/} is an action for a worker. */
  static boolean isAction(String path) {
    int slash = path.lastIndexOf('/');
    return slash > 0 && NAMES.contains(path.substring(slash + 1));
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.below(
        "POST",
        WORKERS,
        new LocalEndpoint() {
          @Override
          public LocalResponse handle(LocalRequest request) throws InterruptedException {
            return act(request);
          }

          @Override
          public boolean waits() {
            return true;
          }
        });
    routes.below("PATCH", WORKERS, this::change);
  }

  private LocalResponse act(LocalRequest request) throws InterruptedException {
    String path = request.pathAfter(WORKERS);
    int slash = path.lastIndexOf('/');
    String name = slash < 0 ? path : path.substring(0, slash);
    String action = slash < 0 ? "" : path.substring(slash + 1);
    boolean drains = action.equals("drain");
    String problem =
        NAMES.contains(action)
            ? QueryNames.problem(request, drains ? List.of("wait") : List.of())
            : null;
    if (problem != null) {
      return WorkersApi.refused(
          drains ? LocalError.DRAIN_FAILED : LocalError.CHANGE_FAILED, problem);
    }
    return switch (action) {
      case "cordon" -> cordon(name, true);
      case "uncordon" -> cordon(name, false);
      case "drain" -> drain(name, request.parameter("wait"));
      default ->
          WorkersApi.refused(
              LocalError.ACTION_NOT_FOUND,
              "path: " + path + " (expected: a worker's URL, " + ACTIONS + ")");
    };
  }

  /** The workers with this URL or id: one, or all ranks of an engine. */
  private List<Worker> named(String name) {
    String base = WorkerUrls.trimmed(name);
    return fleet.snapshot().workers().stream()
        .filter(worker -> WorkerUrls.names(base, worker) || worker.id().equals(base))
        .toList();
  }

  private LocalResponse cordon(String name, boolean on) {
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return WorkersApi.notFound(name);
    }
    mark(workers, on);
    return report(200, workers, _ -> {});
  }

  private static void mark(List<Worker> workers, boolean on) {
    for (Worker worker : workers) {
      if (worker.cordoned() != on) {
        worker.cordon(on);
        log.info(
            "worker {} is {} by the worker API, {} requests in flight",
            worker,
            on ? "cordoned" : "uncordoned",
            worker.inFlight());
      }
    }
  }

  private LocalResponse drain(String name, @Nullable String wait) throws InterruptedException {
    Duration limit = USUAL_WAIT;
    if (wait != null) {
      try {
        limit = WAIT.read(new RawValue.Scalar(wait, "wait"));
      } catch (IllegalArgumentException e) {
        return WorkersApi.refused(LocalError.DRAIN_FAILED, "wait: " + e.getMessage());
      }
    }
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return WorkersApi.notFound(name);
    }
    mark(workers, true);
    long begun = ticker.nanos();
    while (workers.stream().allMatch(Worker::draining)
        && !workers.stream().allMatch(Worker::drained)
        && ticker.nanos() - begun < limit.toNanos()) {
      pause.pause(LOOK);
      workers = present(workers, name);
    }
    long millis = (ticker.nanos() - begun) / 1_000_000;
    boolean uncordoned = !workers.stream().allMatch(Worker::draining);
    boolean drained = workers.stream().allMatch(Worker::drained);
    return report(
        uncordoned ? LocalError.UNCORDONED.status() : drained ? 200 : 202,
        workers,
        body -> {
          body.put("waited_ms", millis);
          if (uncordoned) {
            body.put("error", "the worker was uncordoned while it drained");
          } else if (!drained) {
            body.put("note", "still draining; ask again, or poll GET /workers/{url}");
          }
        });
  }

  /** The workers with this name instead of former ones; these themselves if there are none. */
  private List<Worker> present(List<Worker> workers, String name) {
    List<Worker> now = workers.stream().anyMatch(Worker::left) ? named(name) : List.of();
    return now.isEmpty() ? workers : now;
  }

  private LocalResponse change(LocalRequest request) {
    String name = request.pathAfter(WORKERS);
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return WorkersApi.missing(request, name);
    }
    try {
      WorkerChange change = WorkerChange.of(WorkersApi.parsed(request.body()));
      for (Worker worker : workers) {
        String problem = change.problem(worker);
        if (problem != null) {
          return WorkersApi.refused(LocalError.CHANGE_FAILED, problem);
        }
      }
      workers.forEach(change::apply);
      return report(200, workers, _ -> {});
    } catch (IllegalArgumentException e) {
      return WorkersApi.refused(LocalError.CHANGE_FAILED, String.valueOf(e.getMessage()));
    }
  }

  private LocalResponse report(int status, List<Worker> workers, Consumer<ObjectNode> more) {
    ObjectNode body = Json.object();
    body.put("cordoned", workers.stream().allMatch(Worker::cordoned));
    body.put("drained", workers.stream().allMatch(Worker::drained));
    body.put("in_flight", workers.stream().mapToInt(Worker::inFlight).sum());
    body.put("background", workers.stream().mapToInt(each -> each.background().count()).sum());
    more.accept(body);
    ArrayNode shown = body.putArray("workers");
    workers.forEach(worker -> shown.add(described.described(worker)));
    return Json.answer(status, body);
  }
}
