package io.pointsman.pd.execution;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.pd.body.ReplyReader;
import io.pointsman.pd.execution.answer.AnswerEdits;
import io.pointsman.pd.execution.answer.EventRewrite;
import io.pointsman.pd.plan.Conversation;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PdStep;
import io.pointsman.pd.plan.PrefillReply;
import io.pointsman.pd.telemetry.SplitListener.Stage;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.proxy.handler.BufferedRewrite;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A decode request; its answer goes to the client. Belongs to the event loop. */
final class DecodeRequest implements UpstreamRequest {
  /**
   * Facts about the answer before it arrives.
   *
   * @param first first token, which precedes the answer; null if decode sends it
   * @param cached prompt tokens that prefill found in its cache; negative while unknown
   * @param mayBeCounted true if {@code cached} is known or can become known
   */
  record Expected(@Nullable FirstToken first, LongSupplier cached, boolean mayBeCounted) {}

  private final PdHandler handler;
  private final PdRequest request;
  private final Worker worker;
  private final HeadChanges head;

  /** Null after the client has received a part of the answer. */
  private @Nullable EditedBody body;

  private final Expected expected;
  private long sentAt;
  private boolean written;

  /** Includes a connection that broke before the request was sent again to the same worker. */
  private boolean everWritten;

  private boolean once;
  private boolean blocksMayBeGone;
  private @Nullable RetryReason failure;
  private int status;

  DecodeRequest(
      PdHandler handler, PdRequest request, PdStep step, EditedBody body, Expected expected) {
    this.handler = handler;
    this.request = request;
    worker = step.worker();
    head = new HeadChanges(step.headers(), expected.first() != null);
    this.body = body;
    this.expected = expected;
  }

  /** Marks the request to be sent at most once. */
  void sendOnce() {
    once = true;
  }

  /** Marks that another decode worker may have fetched the blocks, so they may be gone. */
  void blocksMayBeGone() {
    blocksMayBeGone = true;
  }

  /**
   * True if the worker probably knows of the handover and frees prefill's blocks. An error may
   * precede that step; a busy worker may reject the request before its engine sees it. Engines send
   * the head of a stream after they accept the request. Before that head they may not have accepted
   * it. The head of an answer in one piece comes with its end, so a written request counts.
   */
  boolean arrived() {
    if (failure != null) {
      return false;
    }
    return status > 0 ? status < 400 : written && !request.facts().stream();
  }

  /**
   * True if the worker may have fetched prefill's blocks: it got a complete request and did not
   * report that it is busy or lacks the model.
   */
  boolean mayHaveFetched() {
    return everWritten && !unstarted();
  }

  /** True if the request failed for another reason than a worker that did not start it. */
  boolean broke() {
    return failure != null && !unstarted();
  }

  private boolean unstarted() {
    return failure == RetryReason.BUSY || failure == RetryReason.NOT_THERE;
  }

  /** Status of the answer; 0 before it. */
  int status() {
    return status;
  }

  @Override
  public Message message() {
    EditedBody unsent = body;
    if (unsent == null) {
      throw new IllegalStateException("sent again after the client got a part of its answer");
    }
    return new Message(unsent, head, once);
  }

  /**
   * Engines send the head before they have the blocks. Until the body starts, another worker can
   * still take them.
   */
  @Override
  public WaitRules rules() {
    return new WaitRules(handler.context().stages().decode(), true, true, blocksMayBeGone);
  }

  @Override
  public void reached(Step step) {
    switch (step) {
      case SENT -> {
        written = false;
        sentAt = handler.now();
      }
      case WRITTEN -> {
        written = true;
        everWritten = true;
      }
      case REACHED -> {
        body = null;
        handler.reached();
      }
    }
  }

  @Override
  public void failed(RetryReason reason) {
    failure = reason;
  }

  @Override
  public AnswerChanges answered(ResponseHead answer) {
    status = answer.status();
    handler.context().listener().stage(Stage.DECODE, handler.now() - sentAt);
    return new AnswerChanges(handler.lines(), rewrite(answer));
  }

  private @Nullable BodyRewrite rewrite(ResponseHead answer) {
    boolean learns = learns();
    boolean wanted = expected.first() != null || expected.mayBeCounted() || learns;
    boolean readable = status == 200 && !answer.encoded() && answer.contentLength() != 0;
    if (!wanted || !readable) {
      return null;
    }
    AnswerEdits edits =
        new AnswerEdits(
            handler.tools(), request.endpoint(), expected.cached(), expected.first(), learns);
    return answer.eventStream()
        ? new EventRewrite(edits, () -> learn(edits))
        : new BufferedRewrite(
            edits::apply, handler.context().stages().maxReplyBytes(), () -> learn(edits));
  }

  private boolean learns() {
    return request.conversation() != null && !handler.context().protocol().listeners().isEmpty();
  }

  private void learn(AnswerEdits edits) {
    byte[] back = edits.handedBack();
    if (back != null
        && handler.tools().replies().read(back, 0, back.length)
            instanceof ReplyReader.Result.Read(PrefillReply reply)) {
      handler
          .context()
          .protocol()
          .listeners()
          .forEach(listener -> listener.decoded(request, worker, reply, next(edits)));
    }
  }

  /** Prefix of the conversation's next prompt; null if unknown. */
  private @Nullable PrefixMark next(AnswerEdits edits) {
    Conversation conversation = request.conversation();
    byte[] said = edits.said();
    return conversation == null || said == null
        ? null
        : handler.tools().turns().behind(conversation.prompt(), said);
  }
}
