package io.pointsman.proxy.handler;

import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.ResponseHead;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The request that one worker gets in place of the client's, and the handling of its answer.
 * Belongs to the client's event loop.
 */
public interface UpstreamRequest {
  /** The body; null for the client's body unchanged. */
  @Nullable EditedBody body();

  /** The changes to the client's headers. */
  HeadChanges head();

  /**
   * Timeout for the head of the answer, and then for the first byte of its body.
   *
   * @param usual timeout of other requests
   */
  Duration firstByte(Duration usual);

  /**
   * True if another worker is tried after this timeout, or after a late end of the connection.
   *
   * @param usual value for other requests
   */
  boolean againWhereItMayHaveBegun(boolean usual);

  /**
   * True if the client gets neither head nor comments before the first byte of the answer's body.
   */
  boolean holdsHead();

  /**
   * True if the worker must not receive the request twice. It is then sent on a new connection, not
   * on a pooled one.
   */
  default boolean once() {
    return false;
  }

  /**
   * True if the worker may answer with an error because of a former attempt, not because of the
   * client's request.
   */
  default boolean mayFailForFormerAttempt() {
    return false;
  }

  /** Reports that the request is about to be sent. */
  void sent();

  /** Reports that the last byte of the request's own body has left the router. */
  void written();

  /**
   * Reports that the first bytes of the answer go to the client. No retry follows, so its resources
   * are released.
   */
  void reached();

  /**
   * Reports a failure: no answer, a partial answer, or an error that another worker may not have.
   */
  void failed(RetryReason reason);

  /** Header lines for the client's answer, each with its line break. */
  String lines();

  /** Reports the head of the answer. Returns the filter of its body; null for none. */
  @Nullable BodyRewrite answered(ResponseHead head);
}
