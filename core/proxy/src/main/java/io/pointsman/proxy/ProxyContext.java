package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.strategy.PlainHandlers;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.RouterId;
import io.pointsman.request.AffinitySettings;

/**
 * The collaborators of the data plane.
 *
 * @param engine engine that chooses workers
 * @param affinity headers and fields that identify sessions
 * @param paths the paths that the router answers itself
 * @param callers check of the callers' permission
 * @param listener receiver of events for metrics and logs
 * @param tracer factory of traces of single requests
 * @param prompts receiver of the prompts that workers get
 * @param edits changes to clients' bodies
 * @param ticker clock of all timeouts; the same as the engine's
 * @param random random numbers for the jitter of retries and for request ids
 * @param names addresses of workers' host names
 * @param tls TLS to workers; the same as that of the router's own calls
 * @param handlers factory of request handlers
 * @param router identity of this router
 */
public record ProxyContext(
    RoutingEngine engine,
    AffinitySettings affinity,
    ServedPaths paths,
    CallerCheck callers,
    ProxyListener listener,
    RequestTracer tracer,
    PromptListener prompts,
    RequestEdits edits,
    Ticker ticker,
    RandomSource random,
    NameTable names,
    EngineTls tls,
    RequestHandlerFactory handlers,
    RouterId router) {
  public ProxyContext {
    requireNonNull(engine, "engine");
    requireNonNull(affinity, "affinity");
    requireNonNull(paths, "paths");
    requireNonNull(callers, "callers");
    requireNonNull(listener, "listener");
    requireNonNull(tracer, "tracer");
    requireNonNull(prompts, "prompts");
    requireNonNull(edits, "edits");
    requireNonNull(ticker, "ticker");
    requireNonNull(random, "random");
    requireNonNull(names, "names");
    requireNonNull(tls, "tls");
    requireNonNull(handlers, "handlers");
    requireNonNull(router, "router");
  }

  /** A context without an identity, a check of callers, traces or handlers for two workers. */
  public ProxyContext(
      RoutingEngine engine,
      AffinitySettings affinity,
      LocalRoutes routes,
      ProxyListener listener,
      Ticker ticker,
      RandomSource random) {
    this(
        engine,
        affinity,
        new ServedPaths(routes, AdminPaths.NONE, WorkerPins.NONE),
        CallerCheck.NONE,
        listener,
        RequestTracer.NONE,
        PromptListener.NONE,
        RequestEdits.NONE,
        ticker,
        random,
        new NameTable(
            NameTable::ofSystem,
            UpstreamSettings.DEFAULTS.nameTtl(),
            UpstreamSettings.DEFAULTS.connectTimeout(),
            ticker),
        EngineTls.ofSystem(),
        PlainHandlers::new,
        RouterId.NONE);
  }
}
