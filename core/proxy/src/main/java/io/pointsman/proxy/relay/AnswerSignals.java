package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.wire.AnswerTail;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.usage.UsageTail;
import org.jspecify.annotations.Nullable;

/**
 * Signals from a relayed answer to its lease: the first token of a stream, and the token counts at
 * the end. An answer without a length to a streaming request counts as a stream in any format, for
 * example lines of JSON. The last bytes are copied and read once. A compressed answer only reports
 * its first token. Belongs to the event loop.
 */
public final class AnswerSignals {
  private static final int OK = 200;

  /**
   * Maximum size in bytes of a compressor's header, which may precede the first event (gzip 10,
   * zstd at most 18). No event is that short.
   */
  private static final int CODING_HEAD = 18;

  private final Lease lease;

  /** Null if the end of the answer is not readable. */
  private final @Nullable AnswerTail tail;

  /**
   * Remaining bytes before the first token; below 0 when the first token was reported, or is not
   * reported.
   */
  private int before;

  private AnswerSignals(Lease lease, boolean stream, boolean encoded) {
    this.lease = lease;
    tail = encoded ? null : new AnswerTail(UsageTail.BYTES);
    before = stream ? (encoded ? CODING_HEAD : 0) : -1;
  }

  /** Returns null if the answer has no signals: an error, or compressed without streaming. */
  public static @Nullable AnswerSignals of(Lease lease, ResponseHead head) {
    boolean stream = head.eventStream() || (!lease.whole() && unmeasured(head));
    boolean tells = head.status() == OK && (stream || !head.encoded());
    return tells ? new AnswerSignals(lease, stream, head.encoded()) : null;
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
    if (tail != null) {
      tail.append(in);
    }
  }

  /** Reports the token counts at the end of the answer. Called before the lease is settled. */
  public void ended() {
    if (tail != null) {
      lease.reported(UsageTail.read(tail.bytes(), 0, tail.length()));
    }
  }
}
