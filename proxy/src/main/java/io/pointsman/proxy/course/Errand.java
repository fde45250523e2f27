package io.pointsman.proxy.course;

import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What one worker is sent in place of the client's own request, and what becomes of its answer.
 * Belongs to the client's event loop.
 */
public interface Errand {
  /** The body; null for the client's own as it came. */
  @Nullable EditedBody body();

  /** What is changed in the client's headers. */
  HeadChanges head();

  /**
   * How long the answer's head may take, and from there the first byte of its body.
   *
   * @param usual what other requests may take
   */
  Duration firstByte(Duration usual);

  /**
   * Whether another worker is asked if it takes longer, or ends the connection late.
   *
   * @param usual what holds for other requests
   */
  boolean againWhereItMayHaveBegun(boolean usual);

  /** Whether the client gets no head, nor a comment, before the first byte of the answer's body. */
  boolean holdsHead();

  /**
   * Whether the worker must not get it twice, not even where a connection that was used before
   * breaks: it goes out on a new one.
   */
  default boolean once() {
    return false;
  }

  /** The request is about to be sent. */
  void sent();

  /** The whole of its body, if it has one of its own, has left the router. */
  void written();

  /**
   * The first bytes of its answer go to the client: nothing is tried again, and what would have
   * been sent for that is let go of.
   */
  void reached();

  /**
   * It has failed: no answer came, or a part of one, or an error after which another worker may do
   * better.
   */
  void failed(RetryReason reason);

  /** Header lines for the client's answer, each with its line break. */
  String lines();

  /** The head of the answer has come: what changes its body; null for nothing. */
  @Nullable BodyRewrite answered(ResponseHead head);
}
