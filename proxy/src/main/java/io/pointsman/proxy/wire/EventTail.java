package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;

/** The last bytes of a stream of server-sent events: whether it stands between two events. */
public final class EventTail {
  private static final int KEPT = 3;

  private static final int TWO_LINE_ENDS = 0x0A0A;
  private static final int LINE_END_CRLF = 0x0A0D0A;

  /** No three bytes, whatever they are. */
  private static final int NOTHING = -1;

  private int last = NOTHING;

  /** {@code length} bytes of {@code in} from {@code from} on continue the stream. */
  public void append(ByteBuf in, int from, int length) {
    for (int i = from + Math.max(0, length - KEPT); i < from + length; i++) {
      last = ((last << 8) | (in.getByte(i) & 0xFF)) & 0xFFFFFF;
    }
  }

  /** Whether nothing has come yet, or what came ends with an empty line, as an event does. */
  public boolean betweenEvents() {
    return last == NOTHING || (last & 0xFFFF) == TWO_LINE_ENDS || last == LINE_END_CRLF;
  }
}
