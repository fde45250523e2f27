package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;

/** The last bytes of a stream of server-sent events, which show if it is between two events. */
public final class EventTail {
  private static final int KEPT = 3;

  private static final int TWO_LINE_ENDS = 0x0A0A;
  private static final int LINE_END_CRLF = 0x0A0D0A;

  /** A value that no three bytes have. */
  private static final int NOTHING = -1;

  private int last = NOTHING;

  /** Appends {@code length} bytes of {@code in} from index {@code from} on. */
  public void append(ByteBuf in, int from, int length) {
    for (int i = from + Math.max(0, length - KEPT); i < from + length; i++) {
      last = ((last << 8) | (in.getByte(i) & 0xFF)) & 0xFFFFFF;
    }
  }

  /** True if the stream is empty or ends with an empty line, the end of an event. */
  public boolean betweenEvents() {
    return last == NOTHING || (last & 0xFFFF) == TWO_LINE_ENDS || last == LINE_END_CRLF;
  }
}
