package io.pointsman.proxy.split.leg;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.course.Served;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SplitListener;
import io.pointsman.proxy.telemetry.SplitListener.PrefillEnd;
import org.jspecify.annotations.Nullable;

/**
 * The prefills of one request: how the failed ones are settled, whether there may be another one,
 * and the error that the client gets if nothing else helps. Those of decode are the exchange's own
 * attempts. Belongs to the event loop.
 */
public final class PrefillRetries {
  /** What the prefills have come to since the last good one. */
  private enum Trouble {
    NONE,
    /** Workers were too busy; or it was worse, and one worker alone has had the request since. */
    BUSY,
    /** One has failed otherwise, so that one worker alone may serve the request. */
    BROKEN
  }

  private final LoopState state;
  private final SplitListener listener;
  private final Served served;
  private final RetryPlan plan;
  private Trouble trouble = Trouble.NONE;
  private boolean spent;

  public PrefillRetries(LoopState state, SplitListener listener, Served served) {
    this.state = state;
    this.listener = listener;
    this.served = served;
    plan = new RetryPlan(state.plane().retry(), state.plane().backoff(), state.budget());
  }

  /** Notes that a prefill begins. */
  public void attempted() {
    plan.attempted();
  }

  /**
   * Settles the lease of a prefill that was refused.
   *
   * @return why another worker is to be tried; null if the error is the client's
   */
  public @Nullable RetryReason settle(SideLeg leg, HeldAnswer error) {
    return settle(listener, leg, error);
  }

  /** The same for one that nobody waits for. */
  static @Nullable RetryReason settle(SplitListener listener, SideLeg leg, HeldAnswer error) {
    Lease lease = leg.lease();
    if (error.busy()) {
      lease.worker().rest(error.restNanos(), error.status());
      lease.ignored();
      listener.prefill(PrefillEnd.BUSY);
      return RetryReason.BUSY;
    }
    if (error.workersFault()) {
      lease.failed(Failure.ERROR);
      listener.prefill(PrefillEnd.ERROR);
      return RetryReason.STATUS;
    }
    lease.refused();
    listener.prefill(PrefillEnd.CLIENT_ERROR);
    return null;
  }

  /** Keeps the error of a prefill, to be told if nothing else helps. */
  public void keep(HeldAnswer error) {
    plan.hold(error);
  }

  /** Notes that a prefill ended without an answer. */
  public void noAnswer(RetryReason reason, ProxyError error) {
    plan.failed(error);
    listener.prefill(end(reason));
  }

  /** How one ended that got no answer. */
  static PrefillEnd end(RetryReason reason) {
    return switch (reason) {
      case TIMEOUT -> PrefillEnd.TIMEOUT;
      case BUSY -> PrefillEnd.BUSY;
      case CONNECT, STATUS, NOT_THERE, STALE, RESET, PROTOCOL, LATE_RESET -> PrefillEnd.ERROR;
    };
  }

  /** One has done its part: what failed before it is of no account. */
  public void succeeded() {
    trouble = Trouble.NONE;
    plan.release();
  }

  /** Takes leave for another prefill after a failed one; false if there must not be one. */
  public boolean another(RetryReason reason) {
    boolean busy = reason == RetryReason.BUSY && trouble != Trouble.BROKEN;
    trouble = busy ? Trouble.BUSY : Trouble.BROKEN;
    boolean again = repeat(reason);
    if (again) {
      served.retried(reason);
    }
    return again;
  }

  /** The same where what a good prefill has computed is lost. */
  public boolean anew() {
    return repeat(RetryReason.STATUS);
  }

  private boolean repeat(RetryReason reason) {
    boolean again = plan.another(reason, state.now());
    spent = !again;
    return again;
  }

  /** How long to wait before that. */
  public long waitNanos(RetryReason reason) {
    return plan.waitNanos(reason);
  }

  /** Whether one has failed, or was busy. */
  public boolean failed() {
    return trouble != Trouble.NONE;
  }

  /** Whether there must be no further one: the request is served whole, or not at all. */
  public boolean spent() {
    return spent;
  }

  /**
   * Whether one has failed otherwise than by being busy, so that one worker alone may serve the
   * request. True once at most.
   */
  public boolean takeBroke() {
    boolean taken = trouble == Trouble.BROKEN;
    if (taken) {
      trouble = Trouble.BUSY;
    }
    return taken;
  }

  /** The client gets the best error that there is. */
  public void giveUp() {
    HeldAnswer held = plan.takeHeld(false);
    ProxyError error = plan.lastError();
    if (held != null) {
      served.pass(held, held.busy() ? Math.max(1, plan.shortestRestSeconds(0)) : 0);
    } else if (error != null) {
      served.reply(error, Reply.of(error, error.message()).retryAfter(0));
    } else {
      served.giveUp();
    }
  }

  /** Lets go of the error that is kept. */
  public void release() {
    plan.release();
  }
}
