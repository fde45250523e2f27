package io.pointsman.pd.execution;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.execution.answer.EventUsage;
import io.pointsman.pd.execution.step.LateResponse;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.execution.step.UnusedPrefill;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.Terms;
import io.pointsman.pd.rule.Placement;
import io.pointsman.pd.telemetry.SplitListener.HandoverEnd;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.pd.telemetry.SplitListener.Stage;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults.Evidence;
import io.pointsman.proxy.telemetry.RetryReason;
import org.jspecify.annotations.Nullable;

/**
 * Execution of a plan with both requests together. The client gets decode's answer; prefill's
 * answer is read to its end. If one request fails, the other waits for it and is cancelled. A
 * finished prefill waits for nothing; its blocks are freed instead. Belongs to the event loop.
 */
final class ConcurrentExecution implements PdExecution, PrefillRequest.Owner {
  private static final long NOT_KNOWN = -1;

  private final PdHandler handler;
  private final Placement.Split split;
  private final PdRequest request;
  private final PdPlan.Concurrent plan;
  private @Nullable PrefillRequest prefill;
  private @Nullable DecodeRequest decodeRequest;

  /** True if the attempt owns the decode lease. */
  private boolean decodeSent;

  /** True if decode has fetched prefill's blocks, or frees them when it is cancelled. */
  private boolean taken;

  /** True if prefill has answered and holds its blocks until a request fetches them. */
  private boolean reserved;

  private long repliedAt;
  private boolean abandoned;
  private long cached = NOT_KNOWN;

  ConcurrentExecution(
      PdHandler handler, Placement.Split split, PdRequest request, PdPlan.Concurrent plan) {
    this.handler = handler;
    this.split = split;
    this.request = request;
    this.plan = plan;
  }

  @Override
  public void begin() {
    PrefillRequest step =
        handler
            .stepWriter()
            .side(
                handler.body(),
                plan.prefill(),
                plan.prefill().edits(),
                split.prefill(),
                handler.served().request().faults(),
                handler.context().stages().prefill(),
                this);
    DecodeRequest sent =
        new DecodeRequest(
            handler,
            request,
            plan.decode(),
            handler.stepWriter().edited(handler.body(), plan.decode().edits()),
            new DecodeRequest.Expected(null, () -> cached, true));
    prefill = step;
    step.start();
    if (!step.over()) {
      decodeSent = true;
      decodeRequest = sent;
      handler.served().attempt(split.decode(), sent);
    }
  }

  @Override
  public void answered(PrefillRequest step, byte[] body) {
    ReplyReader.Result read = handler.tools().replies().read(body, 0, body.length);
    if (plan.promise() != null && read instanceof ReplyReader.Result.Unreadable) {
      step.faults().failed(step.lease(), Failure.ERROR, Evidence.ENGINE_ANSWERED);
      failed(step, RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
      return;
    }
    step.lease().succeeded();
    reserved = frees();
    repliedAt = handler.now();
    handler.prefills().succeeded();
    handler.context().listener().prefill(PrefillEnd.DONE);
    handler.context().listener().stage(Stage.PREFILL, step.nanos());
    if (read instanceof ReplyReader.Result.Read(PrefillReply reply)) {
      cached = reply.cachedTokens();
      handler
          .context()
          .protocol()
          .listeners()
          .forEach(listener -> listener.prefilled(step.lease().worker(), reply));
      PdPlan.Promise promise = plan.promise();
      if (promise != null && !promise.kept().test(reply)) {
        handler.guarded(() -> broken(promise, reply));
      }
    } else {
      cached = EventUsage.cached(handler.tools().replies(), body);
    }
  }

  /**
   * Handles a prefill that does not push its blocks. Decode would wait forever, so it is cancelled
   * and the request is decided again.
   */
  private void broken(PdPlan.Promise promise, PrefillReply reply) {
    reportFailure();
    if (!withdraw()) {
      return;
    }
    reserved = false;
    abandoned = true;
    if (reply.kvTransferParams() == null) {
      handler.context().listener().handover(HandoverEnd.EMPTY);
    } else {
      handler.context().listener().handover(HandoverEnd.RECOMPUTED);
      free(worker -> fetched(promise.fetch().to(worker, reply)), handler.body(), repliedAt);
    }
    handler.place();
  }

  private static @Nullable PdStep fetched(Continuation continuation) {
    return continuation instanceof Continuation.Decode(PdStep step, @Nullable FirstToken _)
        ? step
        : null;
  }

  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    RetryReason reason = handler.prefills().settle(step, error);
    if (reason == RetryReason.STATUS) {
      reportFailure();
    }
    handler.guarded(
        () -> {
          if (!withdraw()) {
            error.release();
          } else if (reason == null) {
            handler.served().end(new Ending.WorkerError(error, 0));
          } else {
            handler.prefills().keep(error);
            handler.bothAgain(step.lease().worker(), reason);
          }
        });
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    handler.prefills().noAnswer(reason, error);
    if (reason != RetryReason.BUSY) {
      reportFailure();
    }
    handler.guarded(
        () -> {
          if (withdraw()) {
            handler.bothAgain(step.lease().worker(), reason);
          }
        });
  }

  /**
   * Cancels the decode request, which may be unsent.
   *
   * @return false if a part of its answer has reached the client. The transfer was then complete,
   *     so decode continues without prefill
   */
  private boolean withdraw() {
    settleUnsentDecode();
    return handler.served().withdraw();
  }

  private void settleUnsentDecode() {
    if (!decodeSent) {
      decodeSent = true;
      split.decode().ignored();
    }
  }

  @Override
  public void decodeFailed(Worker failed) {
    reportDecodeFailure();
    handler.request().decode().exclude(failed);
    letGo();
    handler.context().listener().handover(HandoverEnd.RECOMPUTED);
  }

  private void reportDecodeFailure() {
    DecodeRequest last = decodeRequest;
    if (last != null && last.broke()) {
      reportFailure();
    }
  }

  private void reportFailure() {
    Worker worker = split.prefill().worker();
    handler.context().protocol().listeners().forEach(listener -> listener.failedTogether(worker));
  }

  /** True if a finished prefill holds blocks to free. */
  private boolean frees() {
    return !taken && plan.terms().release() == Terms.Release.CANCEL_OR_SEND;
  }

  /**
   * Ends prefill's part, because decode does not continue: prefill is cancelled, or its blocks are
   * freed. Has an effect once.
   */
  private void letGo() {
    PrefillRequest step = prefill;
    if (step == null || abandoned) {
      return;
    }
    abandoned = true;
    if (step.over()) {
      if (reserved) {
        reserved = false;
        free(handler.body(), repliedAt);
      }
    } else if (step.answering() && frees()) {
      KeptBody body = handler.body();
      body.retain();
      handler.request().prefillGoesOn();
      step.detach(
          new LateResponse(handler.context().listener(), body, () -> free(body, handler.now())));
    } else {
      step.abort();
      handler.context().listener().prefill(PrefillEnd.ABORTED);
    }
  }

  /**
   * @param since time of prefill's answer
   */
  private void free(KeptBody body, long since) {
    free(plan.decode()::to, body, since);
  }

  private void free(KvReleaser.FetchForm fetch, KeptBody body, long since) {
    long until = since + plan.terms().lease().toNanos();
    handler.release(
        new KvReleaser(
            handler, new KvReleaser.ReservedKv(split, plan.terms(), fetch, body, until)));
  }

  @Override
  public boolean goOn() {
    return false;
  }

  @Override
  public boolean clientLeft() {
    return prefill != null && prefill.clientLeft();
  }

  @Override
  public void checkWorkers() {
    handler.leaveIfLost(prefill);
  }

  @Override
  public void reached() {
    DecodeRequest last = decodeRequest;
    if (last != null && last.arrived()) {
      taken = true;
      reserved = false;
    } else {
      letGo();
    }
  }

  @Override
  public void over(boolean answered) {
    settleUnsentDecode();
    if (prefill == null) {
      split.prefill().ignored();
      return;
    }
    if (!answered) {
      giveUp();
      return;
    }
    handler.context().listener().handover(HandoverEnd.TAKEN);
    PrefillRequest step = prefill;
    if (step != null && !step.over()) {
      step.detach(new UnusedPrefill(handler.context().listener()));
    }
  }

  /** Ends both requests, because the client left or there is no successful answer. */
  private void giveUp() {
    reportDecodeFailure();
    DecodeRequest last = decodeRequest;
    if (last != null && last.arrived()) {
      taken = true;
      if (reserved) {
        reserved = false;
        handler.context().listener().handover(HandoverEnd.RELEASED);
      }
    }
    letGo();
  }
}
