package io.pointsman.pd.execution;

import io.pointsman.engine.RejectReason;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.execution.StageSettings.Reuse;
import io.pointsman.pd.execution.answer.CompleteAnswer;
import io.pointsman.pd.execution.step.PrefillRequest;
import io.pointsman.pd.plan.Continuation;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.plan.Terms;
import io.pointsman.pd.rule.Placement;
import io.pointsman.pd.rule.SplitDecision;
import io.pointsman.pd.rule.SplitRule;
import io.pointsman.pd.telemetry.SplitListener.HandoverEnd;
import io.pointsman.pd.telemetry.SplitListener.PrefillEnd;
import io.pointsman.pd.telemetry.SplitListener.Stage;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.handler.Ending;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults.Evidence;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.request.splice.BodyEdit;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Execution of a plan with prefill first, then decode with prefill's answer. It owns the decode
 * lease until the decode request is sent. On every path it frees the blocks that prefill reserves.
 * It is one class because a second owner of these blocks could free them twice or never. Belongs to
 * the event loop.
 */
final class SequentialExecution implements PdExecution, PrefillRequest.Owner {
  private final PdHandler handler;
  private final PdContext context;
  private final Placement.Split split;
  private final PdRequest request;
  private final PdPlan.Sequential plan;
  private final ArrivalWait arrivals;
  private @Nullable PrefillRequest prefill;
  private @Nullable PrefillReply reply;
  private long repliedAt;
  private @Nullable DecodeRequest decodeRequest;

  /** Worker of the last decode request. */
  private @Nullable Worker asked;

  /** The last decode worker that failed. */
  private @Nullable Worker failed;

  /** True if a failed decode worker may have fetched the blocks. */
  private boolean maybeFetched;

  /** True if another worker was tried although the blocks may have been fetched. */
  private boolean risked;

  SequentialExecution(
      PdHandler handler, Placement.Split split, PdRequest request, PdPlan.Sequential plan) {
    this.handler = handler;
    this.split = split;
    this.request = request;
    this.plan = plan;
    context = handler.context();
    arrivals = new ArrivalWait(handler, plan.await());
  }

  // Prefill.

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
                context.stages().prefill(),
                this);
    arrivals.expect();
    prefill = step;
    step.start();
  }

  @Override
  public void answered(PrefillRequest step, byte[] body) {
    switch (handler.tools().replies().read(body, 0, body.length)) {
      case ReplyReader.Result.Unreadable _ -> {
        step.faults().failed(step.lease(), Failure.ERROR, Evidence.ENGINE_ANSWERED);
        failed(step, RetryReason.PROTOCOL, ProxyError.UPSTREAM_PROTOCOL);
      }
      case ReplyReader.Result.Read(PrefillReply read) -> {
        step.lease().succeeded();
        handler.prefills().succeeded();
        context.listener().prefill(PrefillEnd.DONE);
        context.listener().stage(Stage.PREFILL, step.nanos());
        handler.served().report().prefilled(step.nanos());
        reply = read;
        repliedAt = handler.now();
        handler.guarded(() -> replied(step.lease().worker(), read));
      }
    }
  }

  private void replied(Worker by, PrefillReply read) {
    context.protocol().listeners().forEach(listener -> listener.prefilled(by, read));
    arrivals.then(() -> handler.guarded(() -> decode(split.decode(), read)));
  }

  @Override
  public void refused(PrefillRequest step, BufferedResponse error) {
    arrivals.stop();
    RetryReason reason = handler.prefills().settle(step, error);
    handler.guarded(
        () -> {
          if (reason == null) {
            split.decode().ignored();
            handler.served().end(new Ending.WorkerError(error, 0));
          } else {
            handler.prefills().keep(error);
            handler.prefillAgain(split, reason);
          }
        });
  }

  @Override
  public void failed(PrefillRequest step, RetryReason reason, ProxyError error) {
    arrivals.stop();
    handler.prefills().noAnswer(reason, error);
    handler.guarded(() -> handler.prefillAgain(split, reason));
  }

  // Decode.

  private void decode(Lease lease, PrefillReply read) {
    switch (continuation(lease, read)) {
      case Continuation.Complete _ -> {
        lease.ignored();
        decodeRequest = null;
        reply = null;
        context.listener().handover(HandoverEnd.COMPLETE);
        Reply whole = CompleteAnswer.of(handler.tools(), read, request.facts().stream());
        handler.served().end(new Ending.RouterAnswer(handler.withHeaders(whole)));
      }
      case Continuation.Decode(PdStep step, @Nullable FirstToken first) -> {
        if (nothingReserved(read)) {
          context.listener().handover(HandoverEnd.EMPTY);
        }
        attempt(lease, step, first, read);
      }
    }
  }

  private Continuation continuation(Lease lease, PrefillReply read) {
    try {
      return plan.handover().to(lease.worker(), read);
    } catch (RuntimeException e) {
      lease.ignored();
      throw e;
    }
  }

  private void attempt(Lease lease, PdStep step, @Nullable FirstToken first, PrefillReply read) {
    long cached = read.cachedTokens();
    DecodeRequest next;
    try {
      next =
          new DecodeRequest(
              handler,
              request,
              step,
              handler.stepWriter().edited(handler.body(), step.edits()),
              new DecodeRequest.Expected(first, () -> cached, cached >= 0));
    } catch (RuntimeException e) {
      lease.ignored();
      throw e;
    }
    if (plan.terms().release() == Terms.Release.SEND_ONCE) {
      next.sendOnce();
    }
    if (risked) {
      next.blocksMayBeGone();
    }
    decodeRequest = next;
    asked = lease.worker();
    handler.served().attempt(lease, next);
  }

  /**
   * True if the protocol requests a description of the reserved blocks and the answer has none.
   * With notifications the description is not needed.
   */
  private boolean nothingReserved(PrefillReply read) {
    boolean asked =
        plan.await() == null
            && plan.prefill().edits().stream().anyMatch(SequentialExecution::describes);
    return asked && read.kvTransferParams() == null;
  }

  private static boolean describes(BodyEdit edit) {
    return !(edit instanceof BodyEdit.Remove)
        && edit.path().getFirst().equals(ReplyReader.KV_TRANSFER_PARAMS);
  }

  @Override
  public void decodeFailed(Worker worker) {
    DecodeRequest last = decodeRequest;
    maybeFetched |= last != null && last.mayHaveFetched();
    failed = worker;
    handler.request().decode().exclude(worker);
  }

  @Override
  public boolean goOn() {
    PrefillReply read = reply;
    if (read == null || failed == null) {
      return false;
    }
    if (plan.terms().bond() != Terms.Bond.ANY_DECODE || maybeGone(read) || !leased(read)) {
      recompute(read);
      return false;
    }
    switch (context.router().decodeAgain(handler.request())) {
      case SplitDecision.Placed(Placement.Single(Lease lease, SplitRule _)) -> {
        handler.leaveQueue();
        risked |= mayBeFetched(read);
        decode(lease, read);
      }
      case SplitDecision.Placed(Placement.Split other) ->
          throw new IllegalStateException("two workers for one part: " + other);
      case SplitDecision.Refused refused -> {
        boolean busy = refused.rejection().reason() == RejectReason.ALL_BUSY;
        if (!busy || !context.router().someUntried(handler.request(), Role.DECODE)) {
          recompute(read);
          return false;
        }
        handler.waitOrRefuse(refused);
      }
    }
    return true;
  }

  /**
   * True if the blocks may be gone. Prefill frees fetched blocks and may reuse their memory for
   * another prompt. An engine may not refuse a second fetch; the client would then get the answer
   * to another prompt. With {@code ALWAYS}, one such fetch is accepted.
   */
  private boolean maybeGone(PrefillReply read) {
    return mayBeFetched(read) && (risked || context.stages().reuse() != Reuse.ALWAYS);
  }

  private boolean mayBeFetched(PrefillReply read) {
    return maybeFetched && !needsNothing(read);
  }

  /** True if decode needs no blocks of prefill. It can then continue at any time. */
  private boolean needsNothing(PrefillReply read) {
    return plan.terms().release() == Terms.Release.NOTHING || nothingReserved(read);
  }

  /** True if prefill still holds its blocks, unless a worker has fetched them. */
  private boolean leased(PrefillReply read) {
    return needsNothing(read) || handler.now() - repliedAt < plan.terms().lease().toNanos();
  }

  /** Abandons the handover, because the request is decided again. */
  private void recompute(PrefillReply read) {
    context.listener().handover(HandoverEnd.RECOMPUTED);
    DecodeRequest last = decodeRequest;
    if (last != null && !last.arrived()) {
      freeing(read, handler.body(), repliedAt).ifPresent(handler::release);
    }
  }

  // Ends the request.

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
    DecodeRequest answering = decodeRequest;
    PrefillReply read = reply;
    if (answering != null && read != null) {
      reply = null;
      endDecode(answering, read);
    }
  }

  @Override
  public void over(boolean answered) {
    PrefillRequest step = prefill;
    PrefillReply read = reply;
    DecodeRequest sent = decodeRequest;
    if (step != null && !step.over()) {
      endPrefill(step);
      return;
    }
    if (step != null && read != null && sent == null) {
      releaseUnsent(read);
      return;
    }
    arrivals.stop();
    if (step == null) {
      split.prefill().ignored();
      split.decode().ignored();
    } else if (read != null && sent != null) {
      endDecode(sent, read);
    }
  }

  /** Releases the blocks of a decode request that was not sent or not created. */
  private void releaseUnsent(PrefillReply read) {
    if (split.decode().settled()) {
      arrivals.stop();
      context.listener().handover(HandoverEnd.LEFT);
    } else {
      KeptBody body = handler.body();
      body.retain();
      releaseArrived(read, body, repliedAt);
    }
  }

  /**
   * Releases blocks after they have arrived. An engine that pushes blocks cannot free them earlier:
   * decode would find nothing, and no request would fetch blocks that arrive later.
   *
   * @param body released by this method
   * @param since time of prefill's answer
   */
  void releaseArrived(PrefillReply read, KeptBody body, long since) {
    arrivals.then(
        () -> {
          try {
            release(split.decode(), read, body, since);
          } finally {
            body.release();
          }
        });
  }

  /** Ends without blocks to release. */
  void nothingLeft() {
    arrivals.stop();
    split.decode().ignored();
  }

  /** Ends a prefill that no request needs. */
  private void endPrefill(PrefillRequest step) {
    if (step.answering() && freedByDecode()) {
      step.detach(new ReleasePolicy(this, handler));
      return;
    }
    step.abort();
    nothingLeft();
    context.listener().prefill(PrefillEnd.ABORTED);
  }

  /** Ends decode's part after its request was sent or attempted. */
  private void endDecode(DecodeRequest last, PrefillReply read) {
    if (last.arrived()) {
      reportTaken(last);
      return;
    }
    if (asked != null) {
      handler.request().decode().exclude(asked);
    }
    if (mayBeTaken(last)) {
      context.listener().handover(HandoverEnd.LEFT);
    } else {
      freeing(read, handler.body(), repliedAt).ifPresent(handler::release);
    }
  }

  private void reportTaken(DecodeRequest last) {
    HandoverEnd end = failed == null ? HandoverEnd.TAKEN : HandoverEnd.RETAKEN;
    context.listener().handover(last.status() > 0 ? end : HandoverEnd.RELEASED);
  }

  /**
   * Lets the decode worker of {@code lease}, or another, free prefill's blocks. The ownership of
   * the lease passes to this method.
   *
   * @param since time of prefill's answer
   */
  private void release(Lease lease, PrefillReply read, KeptBody body, long since) {
    freeing(read, body, since).ifPresentOrElse(freeing -> freeing.begin(lease), lease::ignored);
  }

  /** True if a decode request frees the blocks that prefill leaves. */
  private boolean freedByDecode() {
    return switch (plan.terms().release()) {
      case SEND_DECODE, SEND_ONCE -> true;
      case NOTHING, CANCEL_BOTH, CANCEL_OR_SEND -> false;
    };
  }

  /** True if {@code last} was the only permitted decode request. Then nothing more can be freed. */
  private boolean mayBeTaken(@Nullable DecodeRequest last) {
    return plan.terms().release() == Terms.Release.SEND_ONCE
        && (maybeFetched || (last != null && last.mayHaveFetched()));
  }

  /** The release of the blocks; empty if there are none that a decode request can free. */
  private Optional<KvReleaser> freeing(PrefillReply read, KeptBody body, long since) {
    Terms terms = plan.terms();
    if (!freedByDecode() || nothingReserved(read) || mayBeTaken(decodeRequest)) {
      return Optional.empty();
    }
    long until = since + terms.lease().toNanos();
    KvReleaser.FetchForm fetch =
        decode ->
            plan.handover().to(decode, read)
                    instanceof Continuation.Decode(PdStep step, @Nullable FirstToken _)
                ? step
                : null;
    return Optional.of(
        new KvReleaser(handler, new KvReleaser.ReservedKv(split, terms, fetch, body, until)));
  }
}
