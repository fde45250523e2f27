package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.pointsman.engine.fleet.BackgroundWork;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URLEncoder;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Asks engines for their responses in the background, by {@code GET /v1/responses/ID}, and records
 * the ends of these. Nobody else learns of an end: the engine sends nothing then, and its client
 * may never ask. It asks while a worker drains, and before responses in progress are dropped.
 */
public final class BackgroundPolls {
  private static final Logger log = LoggerFactory.getLogger(BackgroundPolls.class);

  private static final String RESPONSES = "/v1/responses/";
  private static final Set<String> IN_PROGRESS = Set.of("queued", "in_progress");
  private static final JsonFactory JSON = new JsonFactory();

  /** Maximum number of responses to ask for in a round, if the worker does not drain. */
  private static final int MOST_ASKED = 100;

  private enum State {
    IN_PROGRESS,
    ENDED,
    /** A router does not know it, or knows it as the response of another client. */
    HIDDEN,
    /** The engine refuses such questions. */
    REFUSED
  }

  private final Fleet fleet;
  private final EngineCall engines;
  private final Supplier<Duration> timeout;
  private final Executor threads;
  private final Set<Worker> asked = ConcurrentHashMap.newKeySet();

  /**
   * @param timeout maximum duration of a call; may change
   * @param threads runs the calls to one engine, which block
   */
  public BackgroundPolls(
      Fleet fleet, EngineCall engines, Supplier<Duration> timeout, Executor threads) {
    this.fleet = fleet;
    this.engines = engines;
    this.timeout = timeout;
    this.threads = threads;
  }

  /** Asks each engine that must be asked, unless its last round is in progress. */
  public void look() {
    for (Worker worker : fleet.snapshot().workers()) {
      if (due(worker) && asked.add(worker)) {
        threads.execute(() -> ask(worker));
      }
    }
  }

  private static boolean due(Worker worker) {
    BackgroundWork work = worker.background();
    return worker.draining() ? work.count() > 0 : work.crowded();
  }

  /** Asks for one response after another, up to the first call without a usable answer. */
  private void ask(Worker worker) {
    BackgroundWork work = worker.background();
    boolean drains = worker.draining();
    List<String> ids = work.ids();
    int hidden = 0;
    try {
      for (String id : drains ? ids : ids.subList(0, Math.min(MOST_ASKED, ids.size()))) {
        State state = work.has(id) ? state(worker, id) : State.ENDED;
        if (state == State.REFUSED) {
          refused(worker, drains);
          return;
        }
        boolean unseen = state == State.HIDDEN && drains;
        hidden += unseen ? 1 : 0;
        if (state == State.ENDED || unseen) {
          work.ended(id);
        } else {
          work.goesOn(id);
        }
      }
    } catch (IOException | IllegalArgumentException e) {
      if (gone(worker, e)) {
        log.info(
            "worker {} cannot be reached ({}); its responses in the background are lost",
            worker,
            e.toString());
        work.lost();
      } else {
        log.debug(
            "responses in the background of worker {} are not known: {}", worker, e.toString());
      }
    } finally {
      asked.remove(worker);
    }
    if (hidden > 0) {
      log.warn(
          "worker {} is a router and does not show {} responses in the background (status 404);"
              + " the drain does not wait for them",
          worker,
          hidden);
    }
  }

  /** A worker that does not drain keeps its responses, so its drain can warn of them. */
  private static void refused(Worker worker, boolean drains) {
    if (drains) {
      log.warn(
          "worker {} does not show its responses to the router (status 401 or 403); a drain does"
              + " not wait for those in the background (expected: the key of probes,"
              + " health.api-key)",
          worker);
      worker.background().lost();
    }
  }

  /** True if no process computes the responses of a worker that could not be asked. */
  private static boolean gone(Worker worker, Exception failure) {
    return switch (failure) {
      // No process listens.
      case ConnectException _ -> true;
      // A network or a name server may fail for a moment. Failed probes show that it is not that.
      case ConnectTimeout _, UnknownHostException _ ->
          worker.health().status() == HealthState.Status.UNHEALTHY;
      default -> false;
    };
  }

  /**
   * The state of a response.
   *
   * @throws IOException if the engine does not show it now
   */
  private State state(Worker worker, String id) throws IOException {
    WorkerSpec spec = worker.spec();
    String path = RESPONSES + URLEncoder.encode(id, UTF_8).replace("+", "%20");
    EngineClient.Answer answer;
    try {
      answer = engines.send(spec, "GET", spec.base() + path, timeout.get());
    } catch (EngineClient.TooLargeException e) {
      // A response without output is small.
      return State.ENDED;
    }
    if (answer.good()) {
      String status = status(answer.body());
      boolean goesOn = status != null && IN_PROGRESS.contains(status);
      return goesOn ? State.IN_PROGRESS : State.ENDED;
    }
    int status = answer.status();
    if (status / 100 != 4 || status == 408 || status == 429) {
      throw new IOException("status " + status);
    }
    return switch (status) {
      case 401, 403 -> State.REFUSED;
      case 404 -> worker.probes().router() == null ? State.ENDED : State.HIDDEN;
      default -> State.ENDED;
    };
  }

  /** The member {@code status} of a response; null if there is none. */
  private static @Nullable String status(byte[] body) throws IOException {
    try (JsonParser json = JSON.createParser(body)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean named = json.currentName().equals("status");
        if (json.nextToken() == JsonToken.VALUE_STRING && named) {
          return json.getText();
        }
        json.skipChildren();
      }
      return null;
    }
  }
}
