package io.pointsman.pd.execution.step;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.telemetry.SplitListener;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.proxy.handler.ClientExchange;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.reply.StageErrors;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults.Evidence;
import io.pointsman.proxy.retry.RetryPlan;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * The prefills of one request: their settlement, retries, and the error for the client. Decode
 * requests are attempts of the exchange and not counted here. Belongs to the event loop.
 */
public final class PrefillRetries {
  /** Failures since the last successful prefill. */
  private enum Trouble {
    NONE,
    /**
     * Workers were busy. Or a prefill failed, and the request was then sent to one worker alone.
     */
    BUSY,
    /** A prefill failed for another reason, so one worker alone may serve the request. */
    BROKEN
  }

  private final LoopState state;
  private final SplitListener listener;
  private final ClientExchange served;
  private final RetryPlan plan;
  private Trouble trouble = Trouble.NONE;
  private boolean spent;

  public PrefillRetries(LoopState state, SplitListener listener, ClientExchange served) {
    this.state = state;
    this.listener = listener;
    this.served = served;
    plan =
        new RetryPlan(
            state.server().live().retry(), state.server().live().backoff(), state.budget());
  }

  /** Records the start of a prefill. */
  public void attempted() {
    plan.attempted();
  }

  /**
   * Settles the lease of a prefill with an error.
   *
   * @return reason to try another worker; null if the error is the client's
   */
  public @Nullable RetryReason settle(PrefillRequest step, BufferedResponse error) {
    String model = served.request().facts().model();
    if (model != null && error.lacksModel(model)) {
      state.server().listener().on(new ModelMissing(error.worker(), model));
      step.lease().ignored();
      listener.prefill(PrefillEnd.ERROR);
      return RetryReason.NOT_THERE;
    }
    return settle(listener, step, error);
  }

  /** As {@link #settle(PrefillRequest, BufferedResponse)}, for a prefill that no request needs. */
  static @Nullable RetryReason settle(
      SplitListener listener, PrefillRequest step, BufferedResponse error) {
    Lease lease = step.lease();
    if (error.busy()) {
      error.restWorker();
      lease.ignored();
      listener.prefill(PrefillEnd.BUSY);
      return RetryReason.BUSY;
    }
    if (error.workersFault()) {
      boolean engine = BufferedResponse.enginesFault(error.status());
      step.faults().failed(lease, Failure.ERROR, Evidence.ofAnswer(lease.worker(), engine));
      listener.prefill(PrefillEnd.ERROR);
      return RetryReason.STATUS;
    }
    lease.refused();
    listener.prefill(PrefillEnd.CLIENT_ERROR);
    return null;
  }

  /** Keeps the error of a prefill for the client, if nothing else succeeds. */
  public void keep(BufferedResponse error) {
    plan.buffer(error);
  }

  /** Records a prefill without an answer. */
  public void noAnswer(RetryReason reason, ProxyError error) {
    plan.failed(error);
    listener.prefill(end(reason));
  }

  /** Result to report for a prefill without an answer. */
  static PrefillEnd end(RetryReason reason) {
    return switch (reason) {
      case TIMEOUT, LOST -> PrefillEnd.TIMEOUT;
      case BUSY -> PrefillEnd.BUSY;
      case CONNECT, STATUS, NOT_THERE, STALE, RESET, PROTOCOL, LATE_RESET, ABORTED ->
          PrefillEnd.ERROR;
    };
  }

  /** Records a successful prefill. Earlier failures do not count after it. */
  public void succeeded() {
    trouble = Trouble.NONE;
    plan.release();
  }

  /** Requests another prefill after a failure; false if it is not permitted. */
  public boolean another(RetryReason reason) {
    boolean busy = reason == RetryReason.BUSY && trouble != Trouble.BROKEN;
    trouble = busy ? Trouble.BUSY : Trouble.BROKEN;
    boolean again = repeat(reason);
    if (again) {
      served.report().retried(reason);
    }
    return again;
  }

  /**
   * Requests another prefill because the blocks of a successful one are lost; false if it is not
   * permitted.
   */
  public boolean anew() {
    return repeat(RetryReason.STATUS);
  }

  private boolean repeat(RetryReason reason) {
    boolean possible = reason != RetryReason.NOT_THERE || plan.anotherWithoutModel();
    boolean again = possible && !exhausted() && plan.another(reason, state.now());
    spent = !again;
    return again;
  }

  /** True if no further worker may get the request, because engines failed after it. */
  public boolean exhausted() {
    return !served.request().faults().mayGoOn();
  }

  /** Delay before the next prefill, in nanoseconds. */
  public long waitNanos(RetryReason reason) {
    return plan.waitNanos(reason);
  }

  /** True if a prefill has failed or its worker was busy. */
  public boolean failed() {
    return trouble != Trouble.NONE;
  }

  /**
   * True if no further prefill is permitted. One worker serves the complete request, or it fails.
   */
  public boolean spent() {
    return spent;
  }

  /**
   * True if a prefill failed for another reason than a busy worker, so one worker alone may serve
   * the request. True at most once.
   */
  public boolean takeBroke() {
    boolean taken = trouble == Trouble.BROKEN;
    if (taken) {
      trouble = Trouble.BUSY;
    }
    return taken;
  }

  /**
   * Sends the best available error to the client.
   *
   * @param rejection the error if there is no other one; null for that of the exchange
   * @param someUntried true if a worker was not tried that may have the model
   */
  public void giveUp(Decision.@Nullable Rejected rejection, boolean someUntried) {
    BufferedResponse buffered = plan.takeBuffered(someUntried);
    ProxyError error = plan.lastError();
    if (buffered != null) {
      served.end(
          new Ending.WorkerError(
              buffered, buffered.rests() ? Math.max(1, plan.shortestRestSeconds(0)) : 0));
    } else if (error != null) {
      boolean stage = state.server().live().headers().stageErrors();
      Reply reply = stage ? StageErrors.of(Role.PREFILL, error) : Reply.of(error, error.message());
      served.end(new Ending.RouterError(error, reply.retryAfter(0)));
    } else if (rejection != null) {
      served.end(new Ending.NoWorker(rejection));
    } else {
      served.end(new Ending.BestError());
    }
  }

  /** Releases the buffered error. */
  public void release() {
    plan.release();
  }
}
