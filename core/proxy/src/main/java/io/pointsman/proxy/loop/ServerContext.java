package io.pointsman.proxy.loop;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.FaultRecords;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.wire.RequestHead;
import java.time.Duration;

/**
 * State that all exchanges of the server share, across event loops. Its parts are immutable or
 * thread-safe.
 *
 * @param certificates true if clients can have certificates
 * @param hosts names under which clients reach the listener
 * @param bodies limit on the buffered bodies of requests
 * @param localBodies limit on the bodies on the heap, for endpoints of the router
 * @param decoder decoder of compressed bodies
 * @param sseKeepalive interval without bytes after which an event stream gets a comment; 0 for none
 */
public record ServerContext(
    RoutingEngine engine,
    LocalRoutes routes,
    AdminPaths admin,
    CallerCheck callers,
    boolean certificates,
    AllowedHosts hosts,
    ProxyListener listener,
    RequestTracer tracer,
    PromptListener prompts,
    RequestEdits edits,
    WorkerPins pins,
    Ticker ticker,
    LimitSettings limits,
    TimeoutSettings timeouts,
    HeaderSettings headers,
    Cors cors,
    RetrySettings retry,
    Backoff backoff,
    FaultRecords faults,
    Admissions admissions,
    ClientLimiter limiter,
    Deferral deferral,
    RequestIds requestIds,
    ResponseOwners owners,
    DrainGate gate,
    BodyBudget bodies,
    BodyBudget localBodies,
    BodyDecoder decoder,
    Duration sseKeepalive) {

  /** The name of a client as the owner of stored responses. */
  public String owner(RequestHead client) {
    String known = client.owner();
    return known == null
        ? ClientOwner.of(client.identity(), CallerCheck.credentials(client), callers.confirms())
        : known;
  }

  /** True if clients can be owners of stored responses by a key or a certificate. */
  public boolean distinguishes() {
    return certificates || callers.identifies();
  }

  /** The parts of a context that follow from settings and can be replaced at run time. */
  public record Live(
      AdminPaths admin,
      CallerCheck callers,
      AllowedHosts hosts,
      LimitSettings limits,
      TimeoutSettings timeouts,
      HeaderSettings headers,
      Cors cors,
      RetrySettings retry,
      Backoff backoff,
      Admissions admissions,
      Deferral deferral,
      RequestIds requestIds,
      Duration sseKeepalive) {}

  /** A copy with other settings. Counts, records and budgets are the same objects. */
  public ServerContext with(Live live) {
    return new ServerContext(
        engine,
        routes,
        live.admin,
        live.callers,
        certificates,
        live.hosts,
        listener,
        tracer,
        prompts,
        edits,
        pins,
        ticker,
        live.limits,
        live.timeouts,
        live.headers,
        live.cors,
        live.retry,
        live.backoff,
        faults,
        live.admissions,
        limiter,
        live.deferral,
        live.requestIds,
        owners,
        gate,
        bodies,
        localBodies,
        decoder,
        live.sseKeepalive);
  }
}
