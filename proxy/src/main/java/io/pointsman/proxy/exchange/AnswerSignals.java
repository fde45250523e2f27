package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.proxy.wire.AnswerTail;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.usage.UsageTail;
import org.jspecify.annotations.Nullable;

/**
 * What a policy learns from an answer that passes: when a stream begins, and the token counts at
 * its end. No event is parsed; the last bytes are copied and looked at once. Belongs to the event
 * loop.
 */
final class AnswerSignals {
  private static final int OK = 200;

  private final Lease lease;
  private final boolean events;
  private final AnswerTail tail = new AnswerTail(UsageTail.BYTES);
  private boolean begun;

  private AnswerSignals(Lease lease, boolean events) {
    this.lease = lease;
    this.events = events;
  }

  /** Null if the answer has nothing to learn from: an error, or compressed. */
  static @Nullable AnswerSignals of(Lease lease, ResponseHead head) {
    boolean readable = head.status() == OK && !head.encoded();
    return readable ? new AnswerSignals(lease, head.eventStream()) : null;
  }

  /** {@code in} continues the body; it is left as it is. */
  void bodyArrived(ByteBuf in) {
    if (!begun && in.isReadable()) {
      begun = true;
      if (events) {
        lease.firstToken();
      }
    }
    tail.append(in);
  }

  /** The answer is complete; called before the lease is settled. */
  void ended() {
    lease.reported(UsageTail.read(tail.bytes(), 0, tail.length()));
  }
}
