package io.pointsman.control.health;

import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.engine.env.LogText;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.ProbeState;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.upstream.Shortage;
import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The requests of one probe: the request to the path of probes, and real requests to models. */
final class ProbeRequests {
  private static final Logger log = LoggerFactory.getLogger(ProbeRequests.class);

  /** Result of a probe. */
  enum Verdict {
    GOOD,
    /** A response with another status. */
    BAD,
    /** A connection, but no response in time, and no part of any response since the probe began. */
    SILENT,
    /** No response in time, but parts of responses to requests since the probe began. */
    BUSY,
    /** No connection in time. */
    NOT_ACCEPTED,
    /** The connection was refused or broke. */
    BROKEN,
    /** No result: the router had no free file descriptor or port. */
    NONE
  }

  private final EngineClient client;
  private final Ticker ticker;
  private final Supplier<ProbeSettings> settingsInForce;

  /**
   * @param settingsInForce the settings; may change
   */
  ProbeRequests(EngineClient client, Ticker ticker, Supplier<ProbeSettings> settingsInForce) {
    this.client = client;
    this.ticker = ticker;
    this.settingsInForce = settingsInForce;
  }

  private ProbeSettings settings() {
    return settingsInForce.get();
  }

  /** Sends a probe, and returns its result. */
  Verdict ask(Worker worker) {
    long begun = ticker.nanos();
    try {
      String failure = probeFailure(worker);
      if (failure == null) {
        worker.failureSigns().answeredProbeOf(begun);
        return Verdict.GOOD;
      }
      worker.probes().failing(failure);
      return Verdict.BAD;
    } catch (IOException | IllegalArgumentException e) {
      worker.probes().failing(ProbeFailures.reason(e, worker.spec(), settings()));
      if (e instanceof SocketTimeoutException) {
        log.debug("probe of {} timed out: {}", worker, LogText.of(e));
        return servedSince(worker, begun)
            ? Verdict.BUSY
            : e instanceof ConnectTimeout ? Verdict.NOT_ACCEPTED : Verdict.SILENT;
      }
      log.debug("probe of {} failed: {}", worker, LogText.of(e));
      if (e instanceof ConnectException) {
        worker.probes().refuses();
      }
      return routersOwn(worker, e) ? Verdict.NONE : Verdict.BROKEN;
    }
  }

  /**
   * Sends a probe. If the worker's URL ends in {@code /v1}, a server that does not know the path
   * below the base may know it below {@code /v1}.
   *
   * @return null if the response is good; otherwise the reason
   */
  private @Nullable String probeFailure(Worker worker) throws IOException {
    WorkerSpec spec = worker.spec();
    EngineClient.Answer answer = answer(spec, spec.base());
    String router = answer.router();
    int status = answer.status();
    boolean loop = status == ProxyError.ROUTING_LOOP.status() && router != null;
    worker.probes().answeredBy(router, loop ? ProbeState.NO_ENGINE : answer.routers());
    if (settings().good(status)) {
      return null;
    }
    if (loop) {
      return ProbeFailures.loop(client.router().text().equals(router));
    }
    if (spec.base().equals(spec.url())) {
      return ProbeFailures.status(status, spec.base(), settings());
    }
    int below = answer(spec, spec.url()).status();
    return settings().good(below)
        ? null
        : ProbeFailures.statuses(status, spec.base(), below, spec.url(), settings());
  }

  private EngineClient.Answer answer(WorkerSpec spec, String base) throws IOException {
    String url = base + settings().endpoint();
    return client.send(spec, "GET", url, settings().timeout());
  }

  /**
   * True if the worker sent a part of a response since {@code begun}. After a refused connection
   * only a response that began since then counts; others say nothing about new connections.
   */
  private static boolean servedSince(Worker worker, long begun) {
    return worker.health().status() == HealthState.Status.SUSPECT
        ? worker.begunSince(begun)
        : worker.sentSince(begun);
  }

  /**
   * True if the router caused the failure. A shortage of ports counts only for a healthy worker;
   * another one may have an address that cannot be connected to.
   */
  private static boolean routersOwn(Worker worker, Exception failure) {
    Shortage shortage = Shortage.of(failure);
    return shortage == Shortage.DESCRIPTORS
        || (shortage == Shortage.PORTS && worker.health().healthy());
  }

  /** The configured models of a worker, except models that fail a real request. */
  Set<String> served(Worker worker, List<HealthRequest> requests) {
    Set<String> models = new HashSet<>(worker.spec().models());
    for (HealthRequest each : requests) {
      if (models.contains(each.model()) && !served(worker, each)) {
        models.remove(each.model());
      }
    }
    return models;
  }

  private boolean served(Worker worker, HealthRequest request) {
    long begun = ticker.nanos();
    try {
      EngineClient.Answer answer =
          client.forward(
              worker.spec(),
              "POST",
              worker.spec().base() + request.path(),
              Map.of("content-type", request.contentType()),
              request.body(),
              settings().timeout());
      boolean good = request.served(answer);
      if (!good) {
        log.debug(
            "{} fails {} of {}: {}",
            worker,
            request.kind(),
            LogText.of(request.model()),
            answer.status());
      }
      return good;
    } catch (IOException | IllegalArgumentException e) {
      log.debug(
          "{} fails {} of {}: {}",
          worker,
          request.kind(),
          LogText.of(request.model()),
          LogText.of(e));
      return (e instanceof SocketTimeoutException && servedSince(worker, begun))
          || routersOwn(worker, e);
    }
  }
}
