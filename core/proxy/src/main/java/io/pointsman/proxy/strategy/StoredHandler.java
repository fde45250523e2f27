package io.pointsman.proxy.strategy;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.handler.Candidates;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.handler.PassedRouters;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.stored.Search;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.RetryReason;

/**
 * Strategy of a request that uses a stored response. Only the worker with the response can serve
 * it; if that is unknown, workers are asked one after another. Belongs to the client's event loop.
 */
public final class StoredHandler implements RequestHandler, Candidates {
  private final LoopState state;
  private final RequestHandlers handlers;
  private final ClientExchange exchange;
  private final Search search;
  private RoutingRequest routing;

  /**
   * @param handlers the handlers of the request
   */
  public StoredHandler(
      LoopState state, RequestHandlers handlers, ClientExchange exchange, StoredResponse stored) {
    this.state = state;
    this.handlers = handlers;
    this.exchange = exchange;
    search = new Search(stored, exchange.request().facts(), handlers, state.server().engine());
    routing = named(search.begin());
  }

  private RoutingRequest named(RoutingRequest question) {
    question.named(exchange.request().id());
    PassedRouters.of(exchange.request().head(), state.server().engine().fleet())
        .forEach(question::exclude);
    return question;
  }

  @Override
  public void place() {
    Decision decision = state.server().engine().decide(routing);
    while (decision instanceof Decision.Rejected rejected) {
      RoutingRequest next = search.next(rejected);
      if (next == null) {
        Decision.Rejected unasked = search.unasked();
        exchange.end(new Ending.NoWorker(rejected, unasked == null ? rejected : unasked));
        return;
      }
      routing = named(next);
      decision = state.server().engine().decide(routing);
    }
    if (decision instanceof Decision.Routed(Lease lease)) {
      ask(lease);
    }
  }

  private void ask(Lease lease) {
    if (search.exhausted()) {
      search.cutShort();
      lease.ignored();
      exchange.end(new Ending.BestError());
    } else {
      handlers.toOwner(exchange, lease);
    }
  }

  @Override
  public void failed(Worker failed, RetryReason reason) {
    routing.exclude(failed);
    if (reason == RetryReason.NOT_THERE) {
      search.notThere(failed, routing);
    }
  }

  @Override
  public Candidates candidates() {
    return this;
  }

  @Override
  public boolean admits(Worker worker, long now) {
    return routing.admits(worker, now);
  }

  @Override
  public boolean goesOnAfter(int status) {
    return search.goesOnAfter(status);
  }

  @Override
  public boolean someUntried() {
    return search.incomplete();
  }

  @Override
  public Waits waits() {
    return Waits.NONE;
  }

  @Override
  public void over(ServedAnswer answer) {
    Worker by = answer.worker();
    if (by != null) {
      search.answered(answer.status(), by);
    }
    if (answer.status() > 0) {
      search.ended(answer.status());
    }
    search.end();
  }
}
