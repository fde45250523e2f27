package io.pointsman.proxy.handler;

import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The request that one worker gets, and the handling of its answer. {@link UnchangedRequest} is the
 * client's request as it is. Belongs to the client's event loop.
 */
public interface UpstreamRequest {
  /**
   * The bytes to send.
   *
   * @param body the body; null for the client's body unchanged
   * @param head the changes to the client's headers
   * @param once true if the worker must not receive the request twice. It is then sent on a new
   *     connection, not on a pooled one
   */
  record Message(@Nullable EditedBody body, HeadChanges head, boolean once) {
    static final Message UNCHANGED = new Message(null, HeadChanges.NONE, false);
  }

  /**
   * The rules of the wait for the answer.
   *
   * @param firstByte timeout for the head of the answer, and then for the first byte of its body;
   *     null for the usual one
   * @param leavesStarted true if another worker is always tried after this timeout, or after a late
   *     end of the connection; false if the settings decide
   * @param holdsHead true if the client gets neither head nor comments before the first byte of the
   *     answer's body
   * @param mayFailForFormer true if the worker may answer with an error because of a former
   *     attempt, not because of the client's request
   */
  record WaitRules(
      @Nullable Duration firstByte,
      boolean leavesStarted,
      boolean holdsHead,
      boolean mayFailForFormer) {
    /** The rules of a request without special needs. */
    public static final WaitRules USUAL = new WaitRules(null, false, false, false);

    /** The timeout for the first byte, if that of other requests is {@code usual}. */
    public Duration firstByteOr(Duration usual) {
      return firstByte == null ? usual : firstByte;
    }
  }

  /** The steps of a request, each reported when it happens. */
  enum Step {
    /** The request is about to be sent. */
    SENT,
    /** The last byte of the request's own body has left the router. */
    WRITTEN,
    /** The first bytes of the answer go to the client. No retry follows. */
    REACHED
  }

  /**
   * The changes to the client's answer.
   *
   * @param lines header lines, each with its line break
   * @param rewrite the filter of the body; null for none
   */
  record AnswerChanges(String lines, @Nullable BodyRewrite rewrite) {
    /** No changes. */
    public static final AnswerChanges NONE = new AnswerChanges("", null);
  }

  /** The bytes to send. Called for each connection on which they are sent. */
  Message message();

  /** The rules of the wait for the answer; the same during an attempt. */
  WaitRules rules();

  /** Reports a step. */
  void reached(Step step);

  /**
   * Reports a failure: no answer, a partial answer, or an error that another worker may not have.
   */
  void failed(RetryReason reason);

  /** Reports the head of the answer. Returns the changes to it. */
  AnswerChanges answered(ResponseHead head);
}
