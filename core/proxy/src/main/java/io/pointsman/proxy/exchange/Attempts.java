package io.pointsman.proxy.exchange;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.deferral.WorkerWaits;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.admission.WorkerWait;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.handler.UnchangedRequest;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.reply.StageErrors;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.stored.Search;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.RequestFacts;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one request, on one worker after another. It lets the engine choose each worker.
 * After a failed attempt it decides on a retry, or on the error for the client. Belongs to the
 * client's event loop.
 */
final class Attempts implements DeferredRequest.Holder {
  /** Statuses with which a body can report a busy worker. */
  private static final Set<Integer> BODY_DECIDES =
      Set.of(429, 500, BufferedResponse.BUSY, BufferedResponse.OVERLOADED);

  /** Pauses of a suspect request until a worker without another one is available. */
  private static final int MOST_PAUSES = 40;

  private static final long PAUSE_NANOS = 25_000_000L;

  /** Pauses of a request after two failed engines until it is given up: 0.25 s. */
  private static final int MOST_VERDICTS = 10;

  private final Exchange exchange;
  private final LoopState state;
  private final ServerContext plane;
  private final RequestFacts facts;
  private final RetryPlan retries;
  private final @Nullable Search search;
  private RoutingRequest routing;

  /** Id of the only worker that the client permits; null for any. */
  private final @Nullable String pinned;

  private final @Nullable RequestHandler course;
  private @Nullable Attempt current;
  private boolean answeredWell;
  private boolean told;
  private int pauses;
  private int verdicts;

  /** True after the first late reset or lost worker. A second one ends the request. */
  private boolean brokeLate;

  private @Nullable Future<?> timer;

  /** Null before the first decision. */
  private @Nullable DeferredRequest held;

  private final WorkerWait absence;

  /** True if each failed attempt found no connection, so no worker has seen the request. */
  private boolean unseen = true;

  /**
   * @param stored the stored response that the request uses; null if none
   */
  Attempts(Exchange exchange, RequestFacts facts, @Nullable StoredResponse stored) {
    this.exchange = exchange;
    this.facts = facts;
    state = exchange.state();
    plane = state.plane();
    retries = new RetryPlan(plane.retry(), plane.backoff(), state.budget());
    RequestHandlers courses = state.courses();
    search = stored == null ? null : new Search(stored, facts, courses, plane.engine());
    course =
        courses == null || stored != null
            ? null
            : courses.of(new ClientExchangeView(exchange, this, facts));
    absence =
        new WorkerWait(
            state.loop(),
            plane.holdBack().withoutWorker(),
            plane.listener(),
            plane.ticker(),
            facts.model());
    pinned = plane.pins().worker(exchange.head().uri());
    routing = search == null ? facts.toRoutingRequest(Role.REGULAR, pinned) : search.begin();
    routing.named(exchange.report().requestId());
  }

  /** The current attempt; null before the first, between two, and after the last. */
  @Nullable Attempt current() {
    return current;
  }

  /**
   * Lets the engine choose a worker and starts an attempt on it. A timer or the end of another
   * request may call this. It therefore catches all exceptions; otherwise the client would wait
   * forever.
   */
  void decide() {
    timer = null;
    try {
      if (course != null) {
        course.place();
        return;
      }
      Decision decision = ask();
      if (decision != null) {
        decided(decision);
      }
    } catch (RuntimeException | Error e) {
      exchange.failed(e);
    }
  }

  /** Only the first decision can be deferred, because a retry is already late. */
  private @Nullable Decision ask() {
    if (search == null
        && plane.holdBack().withoutWorker().on()
        && !plane.engine().mayServe(routing)) {
      return decideOrWait();
    }
    absence.end();
    if (search == null && exchange.faults().suspect()) {
      return askApart();
    }
    if (held != null || search != null) {
      return plane.engine().decide(routing);
    }
    held = new DeferredRequest(state, this, routing);
    return held.decide();
  }

  /** Decides while no worker is available. Returns null if the request waits for one. */
  private @Nullable Decision decideOrWait() {
    Decision decision = plane.engine().attempt(routing);
    if (decision instanceof Decision.Rejected rejected) {
      if (unseen && WorkerWaits.useful(rejected.reason()) && awaitWorker()) {
        return null;
      }
      plane.engine().rejected(routing, rejected);
    }
    absence.end();
    return decision;
  }

  private boolean awaitWorker() {
    // Without the workers that refused a connection: one of them may be the first to return.
    RoutingRequest anew = facts.toRoutingRequest(Role.REGULAR, pinned);
    anew.waits().awaits();
    if (!absence.begin(() -> plane.engine().mayServe(anew), this::decide)) {
      return false;
    }
    anew.named(exchange.report().requestId());
    routing = anew;
    return true;
  }

  /** True while the request waits because no worker is available. */
  boolean awaitsWorker() {
    return absence.waits();
  }

  /**
   * Lets the engine choose a worker without other suspect requests, for some time. If this request
   * ends the worker, requests of other clients then fail there only once. Workers that failed
   * lately are avoided, because this is the last attempt.
   *
   * @return null if the request waits
   */
  private @Nullable Decision askApart() {
    Pool pool = plane.engine().pool(routing.role(), routing.model());
    if (pool != null && someEligible(pool, _ -> false)) {
      boolean found =
          someEligible(pool, worker -> worker.suspects() > 0 || worker.breaker().charged())
              || someEligible(pool, worker -> worker.suspects() > 0);
      if (!found && pauses < MOST_PAUSES) {
        pauses++;
        timer = state.loop().schedule(this::decide, PAUSE_NANOS, TimeUnit.NANOSECONDS);
        return null;
      }
      if (!found) {
        routing.avoid(List.of());
      }
    }
    Decision decision = plane.engine().decide(routing);
    routing.avoid(List.of());
    return decision;
  }

  /** Avoids some workers. Returns true if another one is eligible. */
  private boolean someEligible(Pool pool, Predicate<Worker> avoided) {
    routing.avoid(pool.workers().stream().filter(avoided).toList());
    return pool.eligible(state.now(), routing.tried()) > 0;
  }

  /** True if the request is deferred because all workers are full. */
  boolean heldBack() {
    return held != null && held.waits();
  }

  private void decided(Decision decision) {
    switch (decision) {
      case Decision.Routed routed -> toOwnerOrAny(routed.lease());
      case Decision.Rejected rejected -> noWorker(rejected);
    }
  }

  @Override
  public void heldDecided(Decision decision) {
    try {
      decided(decision);
    } catch (RuntimeException | Error e) {
      exchange.failed(e);
    }
  }

  @Override
  public void heldFailed(RuntimeException fault) {
    exchange.failed(fault);
  }

  private void toOwnerOrAny(Lease lease) {
    if (search != null && search.exhausted()) {
      search.cutShort();
      lease.ignored();
      giveUp();
      return;
    }
    RequestHandlers courses = state.courses();
    if (courses == null) {
      begin(lease, UnchangedRequest.INSTANCE);
    } else {
      courses.toOwner(new ClientExchangeView(exchange, this, facts), lease);
    }
  }

  /**
   * Starts an attempt.
   *
   * @param lease ownership passes to this method
   * @param request the request that the worker gets
   */
  void begin(Lease lease, UpstreamRequest request) {
    retries.attempted();
    Attempt next;
    try {
      exchange.report().tries(lease.worker(), state.now());
      if (exchange.faults().suspect()) {
        lease.suspect();
      }
      next = new Attempt(exchange, this, lease, request);
    } catch (RuntimeException | Error e) {
      lease.ignored();
      throw e;
    }
    current = next;
    next.start();
  }

  /**
   * Handles a decision without a worker. The client gets the best error of the attempts, else the
   * reason of the rejection.
   */
  void noWorker(Decision.Rejected rejected) {
    RoutingRequest next = search == null ? null : search.next(rejected);
    if (next != null) {
      next.named(exchange.report().requestId());
      routing = next;
      decide();
      return;
    }
    BufferedResponse held = takeHeld();
    if (held != null) {
      pass(held, rejected.retryAfterNanos());
      return;
    }
    ProxyError failure = retries.lastError();
    if (failure != null) {
      replyFailure(failure);
      return;
    }
    Decision.Rejected unasked = search == null ? null : search.unasked();
    Decision.Rejected why = unasked == null ? rejected : unasked;
    exchange.reply(Rejections.error(why.reason()), Rejections.reply(why, facts.model()));
  }

  /**
   * True if an answer with this status is buffered until it is complete. Either a retry is
   * possible, or only the body distinguishes a busy or ending engine from a failed one.
   */
  boolean holds(int code) {
    boolean searching = search != null && search.goesOnAfter(code);
    boolean retried = exchange.repeatable() && retries.mayRetryAfter(code);
    boolean again = exchange.body().replayable() && (searching || retried);
    return again || BODY_DECIDES.contains(code);
  }

  /** True if another worker may get the request after this one has started it. */
  boolean mayRepeat() {
    return exchange.repeatable() && exchange.body().replayable();
  }

  /** True if a worker other than {@code than} can serve the request now. */
  boolean mayUseAnother(Worker than) {
    long now = state.now();
    Pool pool = plane.engine().pool(than.spec().role(), facts.model());
    return pool != null
        && mayRepeat()
        && pool.any(other -> other != than && routing.admits(other, now));
  }

  /** Records that the same request goes to the same worker over a new connection. */
  void resends() {
    plane.listener().retried(facts.endpoint(), RetryReason.STALE);
  }

  /**
   * Records that the request was sent completely. The first time, it passes the prompt to the
   * listener.
   */
  void sent(Worker to) {
    PromptListener prompts = plane.prompts();
    if (!told && exchange.body().replayable() && prompts.wants(facts)) {
      told = true;
      KeptBody body = exchange.body().whole();
      if (body != null) {
        prompts.sent(facts, to, exchange.head().first("authorization"), body.copy());
      }
    }
  }

  /** Handles the end of an attempt without an answer. */
  void failed(Attempt attempt, RetryReason reason, ProxyError error) {
    current = null;
    unseen &= reason == RetryReason.CONNECT;
    attempt.request().failed(reason);
    exchange.report().gaveUp(reason, 0);
    retries.failed(error);
    boolean possible = mayGoElsewhere(reason, attempt.request());
    brokeLate |= reason == RetryReason.LATE_RESET || reason == RetryReason.LOST;
    onceDecided(attempt.worker(), reason, possible);
  }

  /**
   * True if another worker may get the request. A worker that was busy or unreachable has not
   * started it.
   */
  private boolean mayGoElsewhere(RetryReason reason, UpstreamRequest request) {
    if (!exchange.body().replayable()) {
      return false;
    }
    return switch (reason) {
      case CONNECT, BUSY, NOT_THERE, STALE -> true;
      case RESET, PROTOCOL, STATUS, ABORTED -> repeatable();
      case LATE_RESET ->
          repeatable() && again(request, plane.retry().afterLateReset() && !brokeLate);
      case LOST -> repeatable() && again(request, plane.retry().afterLateReset() && !brokeLate);
      case TIMEOUT -> repeatable() && again(request, plane.retry().afterTimeout());
    };
  }

  /** True if another attempt is permitted now, and another healthy worker is available. */
  boolean mayLeaveWorker(Attempt attempt) {
    long now = state.now();
    Worker lost = attempt.worker();
    Pool pool = plane.engine().pool(lost.spec().role(), facts.model());
    return mayGoElsewhere(RetryReason.LOST, attempt.request())
        && retries.mayLeaveWorker(now)
        && pool != null
        && pool.any(
            other -> other != lost && other.health().healthy() && routing.admits(other, now));
  }

  /** Reports that the client left, before everything is cancelled. */
  void clientLeft() {
    boolean charged = course != null && course.clientLeft();
    if (!charged && current != null) {
      current.clientLeft();
    }
  }

  /** Ends requests to lost workers that are not attempts. */
  void checkWorkers() {
    if (course != null) {
      course.checkWorkers();
    }
  }

  private boolean repeatable() {
    return exchange.repeatable() && exchange.faults().mayGoOn();
  }

  private static boolean again(UpstreamRequest request, boolean usual) {
    return usual || request.rules().leavesStarted();
  }

  /**
   * Handles the end of an attempt with an error. The client gets it if no other attempt does
   * better.
   */
  void held(Attempt attempt, BufferedResponse held) {
    current = null;
    RetryReason reason =
        held.status() == 404
            ? RetryReason.NOT_THERE
            : held.busy() ? RetryReason.BUSY : RetryReason.STATUS;
    unseen = false;
    attempt.request().failed(reason);
    exchange.report().gaveUp(reason, held.status());
    retries.hold(held);
    onceDecided(attempt.worker(), reason, mayGoElsewhere(reason, attempt.request()));
  }

  /**
   * Tries again or gives up. If only the number of failed engines forbids another attempt, waits
   * for evidence that one of them fails by itself.
   */
  private void onceDecided(Worker failed, RetryReason reason, boolean possible) {
    boolean limited = reason == RetryReason.RESET || reason == RetryReason.STATUS;
    boolean waits =
        !possible
            && limited
            && exchange.repeatable()
            && exchange.body().replayable()
            && exchange.faults().undecided();
    if (waits && verdicts < MOST_VERDICTS) {
      verdicts++;
      timer =
          state
              .loop()
              .schedule(() -> decideAgain(failed, reason), PAUSE_NANOS, TimeUnit.NANOSECONDS);
    } else {
      tryAgainOrGiveUp(failed, reason, possible);
    }
  }

  private void decideAgain(Worker failed, RetryReason reason) {
    timer = null;
    try {
      onceDecided(failed, reason, repeatable());
    } catch (RuntimeException | Error e) {
      exchange.failed(e);
    }
  }

  private void tryAgainOrGiveUp(Worker failed, RetryReason reason, boolean possible) {
    if (!possible || !retries.another(reason, state.now())) {
      giveUp();
      return;
    }
    if (course == null) {
      routing.exclude(failed);
      if (reason == RetryReason.NOT_THERE && search != null) {
        search.notThere(failed, routing);
      }
    } else {
      course.failed(failed);
    }
    plane.listener().retried(facts.endpoint(), reason);
    long wait = retries.waitNanos(reason);
    if (wait == 0) {
      decide();
    } else {
      timer = state.loop().schedule(this::decide, wait, TimeUnit.NANOSECONDS);
    }
  }

  /** Ends the request with the best error of the attempts. */
  void giveUp() {
    BufferedResponse held = takeHeld();
    ProxyError failure = retries.lastError();
    if (held != null) {
      pass(held, 0);
    } else {
      replyFailure(failure == null ? ProxyError.NONE_AVAILABLE : failure);
    }
  }

  private void replyFailure(ProxyError failure) {
    Worker last = exchange.report().worker();
    if (plane.headers().stageErrors()
        && last != null
        && failure.blame() == Blame.UPSTREAM
        && StageErrors.apply(last.spec().role())) {
      exchange.reply(failure, StageErrors.of(last.spec().role(), failure));
    } else {
      exchange.reply(failure);
    }
  }

  private @Nullable BufferedResponse takeHeld() {
    return retries.takeHeld(search != null && search.incomplete());
  }

  /** Sends a buffered error to the client. */
  private void pass(BufferedResponse held, long restNanos) {
    exchange.pass(held, held.busy() ? Math.max(1, retries.shortestRestSeconds(restNanos)) : 0);
  }

  /** Records that an answer is relayed; a buffered error is released. */
  void answering() {
    retries.release();
  }

  /** Records the answer to the client, from {@code by} if a worker sent it. */
  void answered(int code, @Nullable Worker by) {
    over();
    answeredWell = code < 400;
    if (search != null && by != null) {
      search.answered(code, by);
    }
    if (search != null) {
      search.ended(code);
    }
  }

  /** Records the end of the current attempt, with its answer or within it. */
  void over() {
    current = null;
  }

  /** Cancels the current attempt, unless a part of its answer has reached the client. */
  boolean withdraw() {
    Relay relay = current == null ? null : current.relay();
    if (relay != null && relay.bytesOut() > 0) {
      return false;
    }
    Relay unsent = abandon(null);
    if (unsent != null) {
      unsent.release();
    }
    exchange.report().withdrawn();
    return true;
  }

  /**
   * Cancels the current attempt.
   *
   * @param failure failure to count for the worker; null for none
   * @return the relay of the current answer; null if there was none
   */
  @Nullable Relay abandon(@Nullable Failure failure) {
    Attempt under = current;
    current = null;
    if (under == null) {
      return null;
    }
    Relay relay = under.relay();
    under.abandon(failure);
    return relay;
  }

  /** Releases everything. No attempt is in progress, and none follows. */
  void end() {
    retries.release();
    absence.end();
    if (search != null) {
      search.end();
    }
    exchange.faults().ended();
    if (held != null) {
      held.leave();
    }
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
    if (course != null) {
      course.over(answeredWell);
    }
  }
}
