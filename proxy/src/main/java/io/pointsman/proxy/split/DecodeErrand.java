package io.pointsman.proxy.split;

import io.pointsman.engine.disagg.plan.Conversation;
import io.pointsman.engine.disagg.plan.FirstToken;
import io.pointsman.engine.disagg.plan.Leg;
import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.course.BodyRewrite;
import io.pointsman.proxy.course.Errand;
import io.pointsman.proxy.split.answer.AnswerEdits;
import io.pointsman.proxy.split.answer.EventRewrite;
import io.pointsman.proxy.split.answer.WholeRewrite;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SplitListener.Stage;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.splice.ReplyReader;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A decode request, whose answer goes to the client. Belongs to the event loop. */
final class DecodeErrand implements Errand {
  /**
   * What is known of the answer before it comes.
   *
   * @param first goes before it; null if nothing
   * @param cached prompt tokens that prefill found in its cache; negative while not known
   * @param mayBeCounted whether {@code cached} is known or may become known
   */
  record Expected(@Nullable FirstToken first, LongSupplier cached, boolean mayBeCounted) {}

  private final SplitCourse course;
  private final PdRequest request;
  private final Worker worker;
  private final HeadChanges head;

  /** Null once the client has got a part of the answer. */
  private @Nullable EditedBody body;

  private final Expected expected;
  private long sentAt;
  private boolean written;

  /** Also on a connection that broke before it was sent once more to the same worker. */
  private boolean everWritten;

  private boolean once;
  private @Nullable RetryReason failure;
  private int status;

  DecodeErrand(SplitCourse course, PdRequest request, Leg leg, EditedBody body, Expected expected) {
    this.course = course;
    this.request = request;
    worker = leg.worker();
    head = new HeadChanges(leg.headers(), expected.first() != null, true);
    this.body = body;
    this.expected = expected;
  }

  /** The worker is not to get it twice. */
  void sendOnce() {
    once = true;
  }

  /**
   * Whether the worker may be taken to know of the hand-over, so that it frees what prefill holds.
   * One that answers with an error may not have got as far as that, one that is busy may say so by
   * a queue before its engine. Engines send the head of a stream when they have taken the request:
   * where it is missing, they have not. That of an answer in one piece comes with its end, and says
   * nothing until then.
   */
  boolean arrived() {
    if (failure != null) {
      return false;
    }
    return status > 0 ? status < 400 : written && !request.facts().stream();
  }

  /**
   * Whether the worker may have fetched what prefill holds: it has got a whole request and has not
   * said that it is too busy for it.
   */
  boolean mayHaveFetched() {
    return everWritten && failure != RetryReason.BUSY;
  }

  /** Whether it failed otherwise than by the worker being busy. */
  boolean broke() {
    return failure != null && failure != RetryReason.BUSY;
  }

  /** The status of its answer; 0 before. */
  int status() {
    return status;
  }

  @Override
  public EditedBody body() {
    EditedBody unsent = body;
    if (unsent == null) {
      throw new IllegalStateException("sent again after the client got a part of its answer");
    }
    return unsent;
  }

  @Override
  public HeadChanges head() {
    return head;
  }

  @Override
  public Duration firstByte(Duration usual) {
    return course.plane().stages().decode();
  }

  @Override
  public boolean againWhereItMayHaveBegun(boolean usual) {
    return true;
  }

  /** Engines send the head before they have the blocks: another one may still take them. */
  @Override
  public boolean holdsHead() {
    return true;
  }

  @Override
  public boolean once() {
    return once;
  }

  @Override
  public void sent() {
    written = false;
    sentAt = course.now();
  }

  @Override
  public void written() {
    written = true;
    everWritten = true;
  }

  @Override
  public void reached() {
    body = null;
    course.reached();
  }

  @Override
  public void failed(RetryReason reason) {
    failure = reason;
  }

  @Override
  public String lines() {
    return course.lines();
  }

  @Override
  public @Nullable BodyRewrite answered(ResponseHead head) {
    status = head.status();
    course.plane().listener().stage(Stage.DECODE, course.now() - sentAt);
    boolean learns = learns();
    boolean wanted = expected.first() != null || expected.mayBeCounted() || learns;
    boolean readable = status == 200 && !head.encoded() && head.contentLength() != 0;
    if (!wanted || !readable) {
      return null;
    }
    AnswerEdits edits =
        new AnswerEdits(
            course.tools(), request.endpoint(), expected.cached(), expected.first(), learns);
    return head.eventStream()
        ? new EventRewrite(edits, () -> learn(edits))
        : new WholeRewrite(edits, course.plane().stages().maxReplyBytes(), () -> learn(edits));
  }

  private boolean learns() {
    return request.conversation() != null && !course.plane().protocol().listeners().isEmpty();
  }

  private void learn(AnswerEdits edits) {
    byte[] back = edits.handedBack();
    if (back != null
        && course.tools().replies().read(back, 0, back.length)
            instanceof ReplyReader.Result.Read(PrefillReply reply)) {
      course
          .plane()
          .protocol()
          .listeners()
          .forEach(listener -> listener.decoded(request, worker, reply, next(edits)));
    }
  }

  /** What the conversation's next prompt begins with; null if that is not known. */
  private @Nullable PrefixMark next(AnswerEdits edits) {
    Conversation conversation = request.conversation();
    byte[] said = edits.said();
    return conversation == null || said == null
        ? null
        : course.tools().turns().behind(conversation.prompt(), said);
  }
}
