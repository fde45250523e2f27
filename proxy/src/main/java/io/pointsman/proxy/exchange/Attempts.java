package io.pointsman.proxy.exchange;

import io.netty.util.concurrent.Future;
import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.course.Course;
import io.pointsman.proxy.course.Courses;
import io.pointsman.proxy.course.Errand;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Plane;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Rejections;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.stored.Search;
import io.pointsman.proxy.stored.StoredResponse;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.RequestFacts;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one request, one worker after the other: asks the engine where to go, and after a
 * failed attempt whether there is another one or which error the client gets. Belongs to the
 * client's event loop.
 */
final class Attempts implements HeldRequest.Holder {
  private final Exchange exchange;
  private final LoopState state;
  private final Plane plane;
  private final RequestFacts facts;
  private final RetryPlan retries;
  private final @Nullable Search search;
  private RoutingRequest routing;
  private final @Nullable Course course;
  private @Nullable Attempt current;
  private boolean answeredWell;
  private boolean told;

  /** Whether a worker's connection broke late, so that another one that does is the last. */
  private boolean brokeLate;

  private @Nullable Future<?> timer;

  /** Null before the first decision. */
  private @Nullable HeldRequest held;

  /**
   * @param stored the stored response that the request is about; null if it is not about one
   */
  Attempts(Exchange exchange, RequestFacts facts, @Nullable StoredResponse stored) {
    this.exchange = exchange;
    this.facts = facts;
    state = exchange.state();
    plane = state.plane();
    retries = new RetryPlan(plane.retry(), plane.backoff(), state.budget());
    Courses courses = state.courses();
    search = stored == null ? null : new Search(stored, facts, courses, plane.engine());
    course =
        courses == null || stored != null
            ? null
            : courses.of(new ServedRequest(exchange, this, facts));
    routing = search == null ? facts.toRoutingRequest(Role.REGULAR, null) : search.begin();
  }

  /** The attempt under way; null before the first, between two, and after the last. */
  @Nullable Attempt current() {
    return current;
  }

  /**
   * Has the engine decide, and begins an attempt on the worker that it names. May be the task of a
   * timer or of another request's end: a defect must not be lost there, with the client waiting.
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

  /** Only the first decision is put off: a further attempt is late already. */
  private @Nullable Decision ask() {
    if (held != null || search != null) {
      return plane.engine().decide(routing);
    }
    held = new HeldRequest(state, this, routing);
    return held.decide();
  }

  /** Whether no worker has been chosen yet because all are full. */
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
    Courses courses = state.courses();
    if (courses == null) {
      begin(lease, null);
    } else {
      courses.toOwner(new ServedRequest(exchange, this, facts), lease);
    }
  }

  /**
   * Begins an attempt.
   *
   * @param lease taken over
   * @param errand what the worker is sent in place of the client's own request; null for that
   */
  void begin(Lease lease, @Nullable Errand errand) {
    retries.attempted();
    Attempt next;
    try {
      exchange.report().tries(lease.worker());
      next = new Attempt(exchange, this, lease, errand);
    } catch (RuntimeException | Error e) {
      lease.ignored();
      throw e;
    }
    current = next;
    next.start();
  }

  /** Nobody was chosen: the client gets the best error of the attempts, else the reason. */
  void noWorker(Decision.Rejected rejected) {
    RoutingRequest next = search == null ? null : search.next(rejected);
    if (next != null) {
      routing = next;
      decide();
      return;
    }
    HeldAnswer held = takeHeld();
    if (held != null) {
      pass(held, rejected.retryAfterNanos());
      return;
    }
    ProxyError failure = retries.lastError();
    if (failure != null) {
      exchange.reply(failure);
      return;
    }
    Decision.Rejected unasked = search == null ? null : search.unasked();
    Decision.Rejected why = unasked == null ? rejected : unasked;
    exchange.reply(Rejections.error(why.reason()), Rejections.reply(why, facts.model()));
  }

  /**
   * Whether an answer with this status is kept until it is complete: another worker might do
   * better, or only its body tells whether the worker is busy or broken.
   */
  boolean holds(int code) {
    boolean searching = search != null && search.goesOnAfter(code);
    boolean retried = exchange.repeatable() && retries.mayRetryAfter(code);
    boolean again = exchange.body().replayable() && (searching || retried);
    return again || code == 429 || code == 503;
  }

  /** The same request goes to the same worker over a fresh connection. */
  void resends() {
    plane.listener().retried(facts.endpoint(), RetryReason.STALE);
  }

  /** The request has been sent whole: who wants to know its prompt is told, once. */
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

  /** An attempt has ended without an answer. */
  void failed(Attempt attempt, RetryReason reason, ProxyError error) {
    current = null;
    tell(attempt, reason);
    exchange.report().gaveUp(reason, 0);
    retries.failed(error);
    boolean possible = mayGoElsewhere(reason, attempt.errand());
    brokeLate |= reason == RetryReason.LATE_RESET;
    tryAgainOrGiveUp(attempt.worker(), reason, possible);
  }

  /** Whether another worker may get it: one that was busy or not reached has not begun with it. */
  private boolean mayGoElsewhere(RetryReason reason, @Nullable Errand errand) {
    if (!exchange.body().replayable()) {
      return false;
    }
    return switch (reason) {
      case CONNECT, BUSY, NOT_THERE, STALE -> true;
      case RESET, PROTOCOL, STATUS -> exchange.repeatable();
      case LATE_RESET ->
          exchange.repeatable() && again(errand, plane.retry().afterLateReset() && !brokeLate);
      case TIMEOUT -> exchange.repeatable() && again(errand, plane.retry().afterTimeout());
    };
  }

  private static boolean again(@Nullable Errand errand, boolean usual) {
    return errand == null ? usual : errand.againWhereItMayHaveBegun(usual);
  }

  /** An attempt has ended with an error that the client gets if nobody does better. */
  void held(Attempt attempt, HeldAnswer held) {
    current = null;
    RetryReason reason =
        held.status() == 404
            ? RetryReason.NOT_THERE
            : held.busy() ? RetryReason.BUSY : RetryReason.STATUS;
    tell(attempt, reason);
    exchange.report().gaveUp(reason, held.status());
    retries.hold(held);
    tryAgainOrGiveUp(attempt.worker(), reason, mayGoElsewhere(reason, attempt.errand()));
  }

  private static void tell(Attempt failed, RetryReason reason) {
    Errand errand = failed.errand();
    if (errand != null) {
      errand.failed(reason);
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

  /** The client gets the best error of the attempts. */
  void giveUp() {
    HeldAnswer held = takeHeld();
    ProxyError failure = retries.lastError();
    if (held != null) {
      pass(held, 0);
    } else {
      exchange.reply(failure == null ? ProxyError.NONE_AVAILABLE : failure);
    }
  }

  private @Nullable HeldAnswer takeHeld() {
    return retries.takeHeld(search != null && search.incomplete());
  }

  /** The client gets an error that was kept. */
  private void pass(HeldAnswer held, long restNanos) {
    exchange.pass(held, held.busy() ? Math.max(1, retries.shortestRestSeconds(restNanos)) : 0);
  }

  /** An answer is being passed on: an error that was kept is not needed any more. */
  void answering() {
    retries.release();
  }

  /** The client has got an answer, from {@code by} if it is a worker's. */
  void answered(int code, @Nullable Worker by) {
    over();
    answeredWell = code < 400;
    if (search != null && by != null) {
      search.answered(code, by);
    }
  }

  /** The attempt that was under way has ended with its answer, or within it. */
  void over() {
    current = null;
  }

  /** Ends the attempt under way, unless a part of its answer has reached the client. */
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
   * Ends the attempt that is under way.
   *
   * @param failure what it counts as for the worker; null for nothing
   * @return the answer that was being passed on; null if there was none
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

  /** Lets go of everything; no attempt is under way any more, and none follows. */
  void end() {
    retries.release();
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
