package io.pointsman.proxy.loop;

import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.body.RequestEdits;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.retry.FaultRecords;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RouterId;

/**
 * State that all exchanges of the server share, across event loops. Its parts are immutable or
 * thread-safe.
 *
 * @param live parts that a reload replaces
 * @param bodies limit on the buffered bodies of requests
 * @param localBodies limit on the bodies on the heap, for endpoints of the router
 * @param decoder decoder of compressed bodies
 * @param router identity of this router
 */
public record ServerContext(
    LiveParts live,
    RoutingEngine engine,
    ProxyListener listener,
    RequestTracer tracer,
    PromptListener prompts,
    RequestEdits edits,
    Ticker ticker,
    FaultRecords faults,
    ClientLimiter limiter,
    ResponseOwners owners,
    DrainGate gate,
    BodyBudget bodies,
    BodyBudget localBodies,
    BodyDecoder decoder,
    RouterId router) {

  /** The name of a client as the owner of stored responses. */
  public String owner(RequestHead client) {
    String known = client.owner();
    return known == null
        ? ClientOwner.of(
            client.identity(), CallerCheck.credentials(client), live.callers().confirms())
        : known;
  }

  /** True if clients can be owners of stored responses by a key or a certificate. */
  public boolean distinguishes() {
    return live.certificates() || live.callers().identifies();
  }

  /** A copy with the parts of other settings. Counts, records and budgets are the same objects. */
  public ServerContext with(LiveParts next) {
    return new ServerContext(
        next,
        engine,
        listener,
        tracer,
        prompts,
        edits,
        ticker,
        faults,
        limiter,
        owners,
        gate,
        bodies,
        localBodies,
        decoder,
        router);
  }
}
