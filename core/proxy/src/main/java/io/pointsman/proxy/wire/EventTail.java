package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;

/** The last bytes of a stream of server-sent events, which show if it is between two events. */
public final class EventTail {
  private static final int KEPT = 8;

  private static final int TWO_LINE_ENDS = 0x0A0A;
  private static final int LINE_END_CRLF = 0x0A0D0A;
  private static final int TWO_CRLF = 0x0D0A0D0A;

  private static final int LIST = 0x5D;
  private static final int TEXT_OBJECT = 0x227D;

  /** The last bytes; 0 before the first ones. */
  private long last;

  private boolean empty = true;

  /** Appends {@code length} bytes of {@code in} from index {@code from} on. */
  public void append(ByteBuf in, int from, int length) {
    for (int i = from + Math.max(0, length - KEPT); i < from + length; i++) {
      last = (last << 8) | (in.getByte(i) & 0xFF);
      empty = false;
    }
  }

  /** True if the stream is empty or ends with an empty line, the end of an event. */
  public boolean betweenEvents() {
    return empty || (last & 0xFFFF) == TWO_LINE_ENDS || (last & 0xFFFFFF) == LINE_END_CRLF;
  }

  /** True if the last event ends with a list. Where data are objects, this is {@code [DONE]}. */
  public boolean endsList() {
    return (beforeEnd() & 0xFF) == LIST;
  }

  /** True if the last event ends with an object with a string as its last member. */
  public boolean endsTextObject() {
    return (beforeEnd() & 0xFFFF) == TEXT_OBJECT;
  }

  /** The bytes before the line end and the empty line of the last event; 0 if it has no end. */
  private long beforeEnd() {
    if ((last & 0xFFFF) == TWO_LINE_ENDS) {
      return last >>> 16;
    }
    return (last & 0xFFFFFFFFL) == TWO_CRLF ? last >>> 32 : 0;
  }
}
