package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Dice;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.loop.CourseFactory;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.request.AffinitySettings;
import java.net.InetAddress;

/**
 * What the data plane works with.
 *
 * @param engine who decides
 * @param affinity where requests say whom they belong to
 * @param routes what the router answers itself
 * @param callers who may send requests
 * @param tracer who follows requests one by one
 * @param prompts who wants to know what was sent to workers
 * @param ticker the clock of all timeouts; the same as the engine's
 * @param dice jitter of retries, and request ids
 * @param lookup finds the addresses of workers' names
 * @param courses leads requests where one worker may not be enough
 */
public record ProxyContext(
    RoutingEngine engine,
    AffinitySettings affinity,
    LocalRoutes routes,
    CallerCheck callers,
    ProxyListener listener,
    RequestTracer tracer,
    PromptListener prompts,
    Ticker ticker,
    Dice dice,
    NameTable.Lookup lookup,
    CourseFactory courses) {
  public ProxyContext {
    requireNonNull(engine, "engine");
    requireNonNull(affinity, "affinity");
    requireNonNull(routes, "routes");
    requireNonNull(callers, "callers");
    requireNonNull(listener, "listener");
    requireNonNull(tracer, "tracer");
    requireNonNull(prompts, "prompts");
    requireNonNull(ticker, "ticker");
    requireNonNull(dice, "dice");
    requireNonNull(lookup, "lookup");
    requireNonNull(courses, "courses");
  }

  /** A context in which everybody may send requests, and nobody follows them. */
  public ProxyContext(
      RoutingEngine engine,
      AffinitySettings affinity,
      LocalRoutes routes,
      ProxyListener listener,
      Ticker ticker,
      Dice dice) {
    this(
        engine,
        affinity,
        routes,
        CallerCheck.NONE,
        listener,
        RequestTracer.NONE,
        PromptListener.NONE,
        ticker,
        dice,
        InetAddress::getByName,
        CourseFactory.NONE);
  }
}
