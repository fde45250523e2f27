package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * Signal from a relayed answer to its lease: the first token of a stream. An answer without a
 * length to a streaming request counts as a stream in any format, for example lines of JSON.
 * Belongs to the event loop.
 */
public final class AnswerSignals {
  private static final int OK = 200;

  /**
   * Maximum size in bytes of a compressor's header, which may precede the first event (gzip 10,
   * zstd at most 18). No event is that short.
   */
  private static final int CODING_HEAD = 18;

  private final Lease lease;

  /** Remaining bytes before the first token; below 0 when the first token was reported. */
  private int before;

  private AnswerSignals(Lease lease, boolean encoded) {
    this.lease = lease;
    before = encoded ? CODING_HEAD : 0;
  }

  /** Returns null if the answer has no signal: an error, or an answer in one piece. */
  public static @Nullable AnswerSignals of(Lease lease, ResponseHead head) {
    boolean stream = head.eventStream() || (!lease.whole() && unmeasured(head));
    return stream && head.status() == OK ? new AnswerSignals(lease, head.encoded()) : null;
  }

  private static boolean unmeasured(ResponseHead head) {
    return head.chunked() || head.contentLength() == ResponseHead.UNKNOWN;
  }

  /**
   * Reads {@code in}, the next bytes of the body, without changing it.
   *
   * @param computed true if the received events show that the prompt is computed
   */
  public void bodyArrived(ByteBuf in, boolean computed) {
    if (before >= 0 && computed) {
      before -= in.readableBytes();
      if (before < 0) {
        lease.firstToken();
      }
    }
  }
}
