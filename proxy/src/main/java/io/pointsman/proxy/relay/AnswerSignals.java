package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.wire.AnswerTail;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.usage.UsageTail;
import org.jspecify.annotations.Nullable;

/**
 * What a policy learns from an answer that passes: when a stream begins, and the token counts at
 * its end. What was asked for as a stream and has no length is one, whatever it consists of (lines
 * of JSON, say). The last bytes are copied and looked at once. Of a compressed answer only the
 * beginning tells something. Belongs to the event loop.
 */
public final class AnswerSignals {
  private static final int OK = 200;

  /**
   * Compressors may write what their streams begin with (gzip 10 bytes, zstd 18 at most) before
   * they have an event; no event is as short as that.
   */
  private static final int CODING_HEAD = 18;

  private final Lease lease;

  /** Null if nothing can be read at the end. */
  private final @Nullable AnswerTail tail;

  /** Bytes that are no token yet; below 0 when the first token is told, or will not be. */
  private int before;

  private AnswerSignals(Lease lease, boolean stream, boolean encoded) {
    this.lease = lease;
    tail = encoded ? null : new AnswerTail(UsageTail.BYTES);
    before = stream ? (encoded ? CODING_HEAD : 0) : -1;
  }

  /** Null if the answer has nothing to learn from: an error, or compressed and no stream. */
  public static @Nullable AnswerSignals of(Lease lease, ResponseHead head) {
    boolean stream = head.eventStream() || (!lease.whole() && unmeasured(head));
    boolean tells = head.status() == OK && (stream || !head.encoded());
    return tells ? new AnswerSignals(lease, stream, head.encoded()) : null;
  }

  private static boolean unmeasured(ResponseHead head) {
    return head.chunked() || head.contentLength() == ResponseHead.UNKNOWN;
  }

  /**
   * {@code in} continues the body; it is left as it is.
   *
   * @param computed whether what has come tells that the prompt is computed
   */
  public void bodyArrived(ByteBuf in, boolean computed) {
    if (before >= 0 && computed) {
      before -= in.readableBytes();
      if (before < 0) {
        lease.firstToken();
      }
    }
    if (tail != null) {
      tail.append(in);
    }
  }

  /** The answer is complete; called before the lease is settled. */
  public void ended() {
    if (tail != null) {
      lease.reported(UsageTail.read(tail.bytes(), 0, tail.length()));
    }
  }
}
