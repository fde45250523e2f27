package io.pointsman.proxy.strategy;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.deferral.WorkerWaits;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.admission.WorkerWait;
import io.pointsman.proxy.handler.Candidates;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.handler.HandledRequest;
import io.pointsman.proxy.handler.PassedRouters;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.handler.UnchangedRequest;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.RequestFacts;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Strategy of a request that any regular worker can serve. The engine chooses the worker of each
 * attempt. The request may wait while all workers are full, or none is available. Belongs to the
 * client's event loop.
 */
final class PlainHandler implements RequestHandler, Candidates, Waits, DeferredRequest.Holder {
  /** Pauses of a suspect request until a worker without another one is available. */
  private static final int MOST_PAUSES = 40;

  private static final long PAUSE_NANOS = 25_000_000L;

  private final LoopState state;
  private final ServerContext server;
  private final ClientExchange exchange;
  private final HandledRequest asked;
  private final RequestFacts facts;
  private RoutingRequest routing;

  /** Id of the only worker that the client permits; null for any. */
  private final @Nullable String pinned;

  private final WorkerWait absence;
  private int pauses;
  private @Nullable Future<?> timer;

  /** Null before the first decision. */
  private @Nullable DeferredRequest deferral;

  /** True if each failed attempt found no connection, so no worker has seen the request. */
  private boolean unseen = true;

  PlainHandler(LoopState state, ClientExchange exchange) {
    this.state = state;
    this.exchange = exchange;
    server = state.server();
    asked = exchange.request();
    facts = asked.facts();
    absence =
        new WorkerWait(
            state.loop(),
            server.live().deferral().withoutWorker(),
            server.listener(),
            server.ticker(),
            facts.model());
    pinned = server.live().paths().pins().worker(asked.head().uri());
    routing = newRouting();
    routing.named(asked.id());
  }

  /** The request began while one worker serves each; that may change before any attempt. */
  private RoutingRequest newRouting() {
    RoutingRequest whole = facts.toRoutingRequest(Role.REGULAR, pinned);
    whole.acceptEarlierRoles();
    PassedRouters.of(asked.head(), server.engine().fleet()).forEach(whole::exclude);
    return whole;
  }

  @Override
  public void place() {
    timer = null;
    Decision decision = ask();
    if (decision != null) {
      decided(decision);
    }
  }

  /** As {@link #place}, called by the event loop, which would only log an exception. */
  private void placeLater() {
    try {
      place();
    } catch (RuntimeException | Error e) {
      exchange.end(new Ending.Defect(e));
    }
  }

  /** Only the first decision can be deferred, because a retry is already late. */
  private @Nullable Decision ask() {
    if (server.live().deferral().withoutWorker().on() && !server.engine().mayServe(routing)) {
      return decideOrWait();
    }
    absence.end();
    if (asked.faults().suspect()) {
      return askApart();
    }
    if (deferral != null) {
      return server.engine().decide(routing);
    }
    deferral = new DeferredRequest(state, this, routing);
    return deferral.decide();
  }

  /** Decides while no worker is available. Returns null if the request waits for one. */
  private @Nullable Decision decideOrWait() {
    Decision decision = server.engine().attempt(routing);
    if (decision instanceof Decision.Rejected rejected) {
      if (unseen && WorkerWaits.useful(rejected.reason()) && awaitWorker()) {
        return null;
      }
      server.engine().rejected(routing, rejected);
    }
    absence.end();
    return decision;
  }

  private boolean awaitWorker() {
    // Without the workers that refused a connection: one of them may be the first to return.
    RoutingRequest anew = newRouting();
    anew.waits().awaits();
    if (!absence.begin(() -> server.engine().mayServe(anew), this::placeLater)) {
      return false;
    }
    anew.named(asked.id());
    routing = anew;
    return true;
  }

  /**
   * Lets the engine choose a worker without other suspect requests, for some time. If this request
   * ends the worker, requests of other clients then fail there only once. Workers that failed
   * lately are avoided, because this is the last attempt.
   *
   * @return null if the request waits
   */
  private @Nullable Decision askApart() {
    Pool pool = server.engine().pool(routing.role(), routing.model());
    if (pool != null && someEligible(pool, _ -> false)) {
      boolean found =
          someEligible(pool, worker -> worker.suspects() > 0 || worker.breaker().charged())
              || someEligible(pool, worker -> worker.suspects() > 0);
      if (!found && pauses < MOST_PAUSES) {
        pauses++;
        timer = state.loop().schedule(this::placeLater, PAUSE_NANOS, TimeUnit.NANOSECONDS);
        return null;
      }
      if (!found) {
        routing.avoid(List.of());
      }
    }
    Decision decision = server.engine().decide(routing);
    routing.avoid(List.of());
    return decision;
  }

  /** Avoids some workers. Returns true if another one is eligible. */
  private boolean someEligible(Pool pool, Predicate<Worker> avoided) {
    routing.avoid(pool.workers().stream().filter(avoided).toList());
    return pool.eligible(state.now(), routing.tried()) > 0;
  }

  private void decided(Decision decision) {
    switch (decision) {
      case Decision.Routed(Lease lease) -> exchange.attempt(lease, UnchangedRequest.INSTANCE);
      case Decision.Rejected rejected -> exchange.end(new Ending.NoWorker(rejected));
    }
  }

  @Override
  public void deferralDecided(Decision decision) {
    try {
      decided(decision);
    } catch (RuntimeException | Error e) {
      exchange.end(new Ending.Defect(e));
    }
  }

  @Override
  public void deferralFailed(RuntimeException fault) {
    exchange.end(new Ending.Defect(fault));
  }

  @Override
  public void failed(Worker failed, RetryReason reason) {
    unseen &= reason == RetryReason.CONNECT;
    routing.exclude(failed);
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
  public boolean goesOnWithoutModel() {
    return true;
  }

  /** Another worker may serve the model, so a 404 of one says little. */
  @Override
  public boolean someUntried() {
    String model = routing.model();
    Pool pool = server.engine().pool(routing.role(), model);
    return pinned == null
        && pool != null
        && pool.any(
            worker ->
                !routing.tried().contains(worker)
                    && (model == null || worker.models().contains(model)));
  }

  @Override
  public Waits waits() {
    return this;
  }

  @Override
  public Cause cause() {
    if (deferral != null && deferral.waits()) {
      return Cause.SLOT;
    }
    return absence.waits() ? Cause.WORKER : Cause.NONE;
  }

  @Override
  public void over(ServedAnswer answer) {
    absence.end();
    if (deferral != null) {
      deferral.leave();
    }
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }
}
