package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.config.value.Raw;
import io.pointsman.config.value.ValueType;
import io.pointsman.config.value.ValueTypes;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Maintenance of a worker that stays in the fleet: {@code POST /workers/{url}/cordon}, {@code
 * /uncordon}, {@code /drain}, and {@code PATCH /workers/{url}} for its weight and labels. A
 * cordoned worker gets no new requests; those in flight finish. A drain waits for them.
 */
public final class CordonApi {
  private static final Logger log = LoggerFactory.getLogger(CordonApi.class);

  private static final String WORKERS = "/workers/";
  private static final String ACTIONS = "/cordon, /uncordon or /drain";
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
    return switch (slash < 0 ? "" : path.substring(slash + 1)) {
      case "cordon" -> cordon(name, true);
      case "uncordon" -> cordon(name, false);
      case "drain" -> drain(name, request.parameter("wait"));
      default ->
          WorkersApi.refused(
              404,
              "ACTION_NOT_FOUND",
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

  private static LocalResponse notFound(String name) {
    return WorkersApi.refused(404, "WORKER_NOT_FOUND", "worker " + name + " not found");
  }

  private LocalResponse cordon(String name, boolean on) {
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return notFound(name);
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
        limit = WAIT.read(new Raw.Scalar(wait, "wait"));
      } catch (IllegalArgumentException e) {
        return WorkersApi.refused(400, "DRAIN_FAILED", "wait: " + e.getMessage());
      }
    }
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return notFound(name);
    }
    mark(workers, true);
    long begun = ticker.nanos();
    while (inFlight(workers) > 0
        && workers.stream().allMatch(Worker::draining)
        && ticker.nanos() - begun < limit.toNanos()) {
      pause.pause(LOOK);
    }
    long millis = (ticker.nanos() - begun) / 1_000_000;
    boolean uncordoned = !workers.stream().allMatch(Worker::draining);
    boolean drained = !uncordoned && inFlight(workers) == 0;
    return report(
        uncordoned ? 409 : drained ? 200 : 202,
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

  private static int inFlight(List<Worker> workers) {
    return workers.stream().mapToInt(Worker::inFlight).sum();
  }

  private LocalResponse change(LocalRequest request) {
    String name = request.pathAfter(WORKERS);
    List<Worker> workers = named(name);
    if (workers.isEmpty()) {
      return notFound(name);
    }
    try {
      WorkerChange change = WorkerChange.of(WorkersApi.parsed(request.body()));
      for (Worker worker : workers) {
        String problem = change.problem(worker);
        if (problem != null) {
          return WorkersApi.refused(400, "CHANGE_FAILED", problem);
        }
      }
      workers.forEach(change::apply);
      return report(200, workers, _ -> {});
    } catch (IllegalArgumentException e) {
      return WorkersApi.refused(400, "CHANGE_FAILED", String.valueOf(e.getMessage()));
    }
  }

  private LocalResponse report(int status, List<Worker> workers, Consumer<ObjectNode> more) {
    ObjectNode body = Json.object();
    body.put("cordoned", workers.stream().allMatch(Worker::cordoned));
    body.put(
        "drained",
        workers.stream().allMatch(worker -> worker.draining() && worker.inFlight() == 0));
    body.put("in_flight", inFlight(workers));
    more.accept(body);
    ArrayNode shown = body.putArray("workers");
    workers.forEach(worker -> shown.add(described.described(worker)));
    return Json.answer(status, body);
  }
}
