package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * Signals from a relayed answer to its lease: the first token of a stream, and the token counts at
 * the end. An answer without a length to a streaming request counts as a stream in any format, for
 * example lines of JSON. A compressed answer only reports its first token. Belongs to the event
 * loop.
 */
public final class AnswerSignals {
  private static final int OK = 200;

  /**
   * Maximum size in bytes of a compressor's header, which may precede the first event (gzip 10,
   * zstd at most 18). No event is that short.
   */
  private static final int CODING_HEAD = 18;

  private final Lease lease;

  /** Null if the answer is not readable. */
  private final @Nullable AnswerReader reader;

  /**
   * Remaining bytes before the first token; below 0 when the first token was reported, or is not
   * reported.
   */
  private int before;

  private AnswerSignals(
      Lease lease, @Nullable AnswerReader reader, boolean stream, boolean encoded) {
    this.lease = lease;
    this.reader = reader;
    before = stream ? (encoded ? CODING_HEAD : 0) : -1;
  }

  /**
   * Returns null if the answer has no signals: an error, or compressed without streaming.
   *
   * @param reader reader of the answer, which sees each part before {@link #bodyArrived}; null if
   *     the answer is not readable
   */
  public static @Nullable AnswerSignals of(
      Lease lease, ResponseHead head, @Nullable AnswerReader reader) {
    boolean stream = head.eventStream() || (!lease.whole() && unmeasured(head));
    boolean readable = head.status() == OK && (stream || !head.encoded());
    return readable ? new AnswerSignals(lease, reader, stream, head.encoded()) : null;
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

  /** Reports the token counts at the end of the answer. Called before the lease is settled. */
  public void ended() {
    if (reader != null) {
      lease.reported(reader.usage());
    }
  }
}
