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

  private final PdHandler course;
  private final Placement.Split split;
  private final PdRequest request;
  private final PdPlan.Concurrent plan;
  private @Nullable PrefillRequest prefill;
  private @Nullable DecodeRequest errand;

  /** True if the attempt owns the decode lease. */
  private boolean decodeSent;

  /** True if decode has fetched prefill's blocks, or frees them when it is cancelled. */
  private boolean taken;

  /** True if prefill has answered and holds its blocks until a request fetches them. */
  private boolean held;

  private long repliedAt;
  private boolean abandoned;
  private long cached = NOT_KNOWN;

  ConcurrentExecution(
      PdHandler course, Placement.Split split, PdRequest request, PdPlan.Concurrent plan) {
    this.course = course;
    this.split = split;
    this.request = request;
    this.plan = plan;
  }

  @Override
  public void begin() {
    PrefillRequest leg =
        course
            .legs()
            .side(
                course.body(),
                plan.prefill(),
                plan.prefill().edits(),
                split.prefill(),
                course.served().request().faults(),
                course.plane().stages().prefill(),
                this);
    DecodeRequest sent =
        new DecodeRequest(
            course,
            request,
            plan.decode(),
            course.legs().edited(course.body(), plan.decode().edits()),
            new DecodeRequest.Expected(null, () -> cached, true));
    prefill = leg;
    leg.start();
    if (!leg.over()) {
      decodeSent = true;
      errand = sent;
      course.served().attempt(split.decode(), sent);
    }
  }

  @Override
  public void answered(PrefillRequest leg, byte[] body) {
    ReplyReader.Result read = course.tools().replies().read(body, 0, body.length);
    if (plan.promise() != null && read instanceof ReplyReader.Result.Unreadable) {
      leg.faults().failed(leg.lease(), Failure.ERROR, Evidence.ENGINE_ANSWERED);
      failed(leg, RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
      return;
    }
    leg.lease().succeeded();
    held = frees();
    repliedAt = course.now();
    course.prefills().succeeded();
    course.plane().listener().prefill(PrefillEnd.DONE);
    course.plane().listener().stage(Stage.PREFILL, leg.nanos());
    if (read instanceof ReplyReader.Result.Read(PrefillReply reply)) {
      cached = reply.cachedTokens();
      course
          .plane()
          .protocol()
          .listeners()
          .forEach(listener -> listener.prefilled(leg.lease().worker(), reply));
      PdPlan.Promise promise = plan.promise();
      if (promise != null && !promise.kept().test(reply)) {
        course.guarded(() -> broken(promise, reply));
      }
    } else {
      cached = EventUsage.cached(course.tools().replies(), body);
    }
  }

  /**
   * Handles a prefill that does not push its blocks. Decode would wait forever, so it is cancelled
   * and the request is decided again.
   */
  private void broken(PdPlan.Promise promise, PrefillReply reply) {
    tellFailed();
    if (!withdraw()) {
      return;
    }
    held = false;
    abandoned = true;
    if (reply.kvTransferParams() == null) {
      course.plane().listener().handover(HandoverEnd.EMPTY);
    } else {
      course.plane().listener().handover(HandoverEnd.RECOMPUTED);
      free(worker -> fetched(promise.fetch().to(worker, reply)), course.body(), repliedAt);
    }
    course.place();
  }

  private static @Nullable PdStep fetched(Continuation continuation) {
    return continuation instanceof Continuation.Decode(PdStep leg, @Nullable FirstToken _)
        ? leg
        : null;
  }

  @Override
  public void refused(PrefillRequest leg, BufferedResponse error) {
    RetryReason reason = course.prefills().settle(leg, error);
    if (reason != null && reason != RetryReason.BUSY) {
      tellFailed();
    }
    course.guarded(
        () -> {
          if (!withdraw()) {
            error.release();
          } else if (reason == null) {
            course.served().end(new Ending.WorkerError(error, 0));
          } else {
            course.prefills().keep(error);
            course.bothAgain(leg.lease().worker(), reason);
          }
        });
  }

  @Override
  public void failed(PrefillRequest leg, RetryReason reason, ProxyError error) {
    course.prefills().noAnswer(reason, error);
    if (reason != RetryReason.BUSY) {
      tellFailed();
    }
    course.guarded(
        () -> {
          if (withdraw()) {
            course.bothAgain(leg.lease().worker(), reason);
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
    return course.served().withdraw();
  }

  private void settleUnsentDecode() {
    if (!decodeSent) {
      decodeSent = true;
      split.decode().ignored();
    }
  }

  @Override
  public void decodeFailed(Worker failed) {
    tellDecodeFailed();
    course.request().decode().exclude(failed);
    letGo();
    course.plane().listener().handover(HandoverEnd.RECOMPUTED);
  }

  private void tellDecodeFailed() {
    DecodeRequest last = errand;
    if (last != null && last.broke()) {
      tellFailed();
    }
  }

  private void tellFailed() {
    Worker worker = split.prefill().worker();
    course.plane().protocol().listeners().forEach(listener -> listener.failedTogether(worker));
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
    PrefillRequest leg = prefill;
    if (leg == null || abandoned) {
      return;
    }
    abandoned = true;
    if (leg.over()) {
      if (held) {
        held = false;
        free(course.body(), repliedAt);
      }
    } else if (leg.answering() && frees()) {
      KeptBody body = course.body();
      body.retain();
      course.request().prefillGoesOn();
      leg.detach(new LateResponse(course.plane().listener(), body, () -> free(body, course.now())));
    } else {
      leg.abort();
      course.plane().listener().prefill(PrefillEnd.ABORTED);
    }
  }

  /**
   * @param since time of prefill's answer
   */
  private void free(KeptBody body, long since) {
    free(plan.decode()::to, body, since);
  }

  private void free(KvReleaser.Fetch fetch, KeptBody body, long since) {
    long until = since + plan.terms().lease().toNanos();
    course.release(
        new KvReleaser(course, new KvReleaser.Held(split, plan.terms(), fetch, body, until)));
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
    course.leaveIfLost(prefill);
  }

  @Override
  public void reached() {
    DecodeRequest last = errand;
    if (last != null && last.arrived()) {
      taken = true;
      held = false;
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
    course.plane().listener().handover(HandoverEnd.TAKEN);
    PrefillRequest leg = prefill;
    if (leg != null && !leg.over()) {
      leg.detach(new UnusedPrefill(course.plane().listener()));
    }
  }

  /** Ends both requests, because the client left or there is no successful answer. */
  private void giveUp() {
    tellDecodeFailed();
    DecodeRequest last = errand;
    if (last != null && last.arrived()) {
      taken = true;
      if (held) {
        held = false;
        course.plane().listener().handover(HandoverEnd.RELEASED);
      }
    }
    letGo();
  }
}
