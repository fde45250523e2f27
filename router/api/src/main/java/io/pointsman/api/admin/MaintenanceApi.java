package io.pointsman.api.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.control.health.EngineClient;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.wire.RouterId;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Operations on the whole fleet: {@code /flush_cache} and {@code /finish_session}. {@code
 * /scheduling/diagnostics} reports that program scheduling is not supported.
 */
public final class MaintenanceApi {
  private static final Duration FLUSH_TIMEOUT = Duration.ofSeconds(30);

  /** Paths that empty an engine's prefix cache, tried in order; vLLM has only the second. */
  private static final List<String> FLUSH_PATHS = List.of("/flush_cache", "/reset_prefix_cache");

  /** Sends a request without a body to an engine. */
  @FunctionalInterface
  public interface FlushCall {
    /**
     * Sends the request, and returns the answer.
     *
     * @param via the routers that sent the client's request, by {@link RouterId#VIA}; null: none
     */
    EngineClient.Answer send(
        WorkerSpec worker, String method, String url, @Nullable String via, Duration timeout)
        throws IOException;
  }

  private final Fleet fleet;
  private final FlushCall engines;
  private final Supplier<List<SessionTable>> sessions;

  /**
   * @param sessions the sticky sessions of all policies
   */
  public MaintenanceApi(Fleet fleet, FlushCall engines, Supplier<List<SessionTable>> sessions) {
    this.fleet = fleet;
    this.engines = engines;
    this.sessions = sessions;
  }

  /** Adds its routes. */
  public void addTo(LocalRoutes.Builder routes) {
    routes.on("POST", "/flush_cache", request -> flush(request.header(RouterId.VIA)));
    routes.on("POST", "/finish_session", this::finish);
    routes.on("GET", "/scheduling/diagnostics", _ -> diagnostics());
  }

  /** Empties the caches of all engines concurrently, with one request per URL. */
  private LocalResponse flush(@Nullable String via) throws InterruptedException {
    TreeMap<String, WorkerSpec> workers = new TreeMap<>();
    for (Worker worker : fleet.snapshot().workers()) {
      workers.put(worker.spec().base(), worker.spec());
    }
    List<String> failed = new ArrayList<>();
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<@Nullable String>> problems = new ArrayList<>();
      workers.forEach(
          (url, worker) -> problems.add(threads.submit(() -> flushed(url, worker, via))));
      for (Future<@Nullable String> problem : problems) {
        String message = problem.get();
        if (message != null) {
          failed.add(message);
        }
      }
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
    return failed.isEmpty()
        ? LocalResponse.text(200, "Cache flushed on all servers")
        : LocalResponse.text(
            LocalError.FLUSH_FAILED, "Cache not flushed on: " + String.join("; ", failed));
  }

  /** The problem at an engine; null if the engine has emptied its cache. */
  private @Nullable String flushed(String url, WorkerSpec worker, @Nullable String via) {
    int status = 0;
    for (String path : FLUSH_PATHS) {
      try {
        EngineClient.Answer answer = engines.send(worker, "POST", url + path, via, FLUSH_TIMEOUT);
        if (answer.good()) {
          return null;
        }
        status = answer.status();
        if (status != 404 && status != 405) {
          break;
        }
      } catch (IOException e) {
        return url + ": " + e.getMessage();
      }
    }
    return url + ": status " + status;
  }

  private LocalResponse finish(LocalRequest request) {
    String unknown = QueryNames.problem(request, List.of("session_id"));
    if (unknown != null) {
      return LocalResponse.text(LocalError.INVALID_QUERY, unknown);
    }
    String session = request.parameter("session_id");
    if (session == null || session.isEmpty()) {
      return LocalResponse.text(
          LocalError.INVALID_QUERY,
          "session_id: missing (expected: /finish_session?session_id=...)");
    }
    sessions.get().forEach(table -> table.finish(session));
    ObjectNode body = Json.object();
    body.put("status", "ok");
    body.put("session_id", session);
    return Json.answer(200, body);
  }

  private static LocalResponse diagnostics() {
    ObjectNode body = Json.object();
    body.put("enabled", false);
    body.put("error", "Program scheduling is not supported yet");
    return Json.answer(LocalError.NOT_SUPPORTED, body);
  }
}
