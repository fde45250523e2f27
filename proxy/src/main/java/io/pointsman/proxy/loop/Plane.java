package io.pointsman.proxy.loop;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.holdback.HoldBack;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import java.time.Duration;

/**
 * What all exchanges of the server share, whatever their event loop. Its parts are immutable or
 * safe for use by several threads.
 *
 * @param bodies bounds what is kept of requests
 * @param localBodies bounds the bodies, on the heap, that the router's own endpoints handle
 * @param sseKeepalive silence after which a stream of events gets a comment; 0 for none
 */
public record Plane(
    RoutingEngine engine,
    LocalRoutes routes,
    CallerCheck callers,
    ProxyListener listener,
    RequestTracer tracer,
    PromptListener prompts,
    Ticker ticker,
    LimitSettings limits,
    TimeoutSettings timeouts,
    HeaderSettings headers,
    Cors cors,
    RetrySettings retry,
    Backoff backoff,
    Admissions admissions,
    HoldBack holdBack,
    RequestIds requestIds,
    ResponseOwners owners,
    DrainGate gate,
    BodyBudget bodies,
    BodyBudget localBodies,
    Duration sseKeepalive) {}
