package io.pointsman.pd.execution.answer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.handler.BodyRewrite;
import java.util.Arrays;

/**
 * Filter that edits the events of a stream. It passes each event when it is complete; an event
 * without edits is unchanged. Belongs to the event loop.
 */
public final class EventRewrite implements BodyRewrite {
  /** Maximum size of an event in bytes. A larger one passes unread. */
  private static final int LONGEST = 1 << 20;

  private static final byte[] DATA = {'d', 'a', 't', 'a', ':'};

  private final AnswerEdits edits;
  private final Runnable onEnd;

  private static final byte[] NOTHING = {};

  /** Start of an event, up to {@link #length}. It contains no end of an event. */
  private byte[] open = NOTHING;

  private int length;

  /** True if the current event passes unread. */
  private boolean unread;

  /** Last two bytes of an unread event that were passed. */
  private byte last;

  private byte beforeLast;

  /**
   * @param onEnd called at the end of the stream
   */
  public EventRewrite(AnswerEdits edits, Runnable onEnd) {
    this.edits = edits;
    this.onEnd = onEnd;
  }

  @Override
  public ByteBuf take(ByteBuf data) {
    int searched = length;
    append(data);
    ByteBuf out = Unpooled.buffer(length - searched + 64);
    int done = 0;
    for (int end = eventEnd(0, searched); end > 0; end = eventEnd(done, done)) {
      if (unread) {
        out.writeBytes(open, done, end - done);
        unread = false;
      } else {
        write(open, done, end, out);
      }
      done = end;
    }
    keep(done, out);
    return out;
  }

  private void append(ByteBuf data) {
    int added = data.readableBytes();
    if (length + added > open.length) {
      open = Arrays.copyOf(open, Math.max(length + added, 2 * length));
    }
    data.readBytes(open, length, added);
    data.release();
    length += added;
  }

  private void keep(int from, ByteBuf out) {
    int rest = length - from;
    if (unread || rest > LONGEST) {
      unread = rest > 0 || unread;
      out.writeBytes(open, from, rest);
      for (int i = Math.max(from, length - 2); i < length; i++) {
        beforeLast = last;
        last = open[i];
      }
      rest = 0;
    } else {
      System.arraycopy(open, from, open, 0, rest);
    }
    length = rest;
    if (rest == 0) {
      open = NOTHING;
    }
  }

  /**
   * Index after the first empty line; 0 if there is none.
   *
   * @param from start of the event
   * @param unsearched no empty line ends before this index
   */
  private int eventEnd(int from, int unsearched) {
    int begin = unread && from == 0 ? -2 : from;
    for (int i = Math.max(begin + 1, unsearched); i < length; i++) {
      if (open[i] != '\n') {
        continue;
      }
      boolean afterLf = at(i - 1) == '\n';
      boolean afterCrLf = i >= begin + 2 && at(i - 1) == '\r' && at(i - 2) == '\n';
      if (afterLf || afterCrLf) {
        return i + 1;
      }
    }
    return 0;
  }

  /** A byte of the current event, from two bytes before the buffered ones. */
  private byte at(int index) {
    return index >= 0 ? open[index] : index == -1 ? last : beforeLast;
  }

  private void write(byte[] bytes, int from, int to, ByteBuf out) {
    int at = dataFrom(bytes, from, to);
    int end = at;
    while (end < to && bytes[end] != '\n' && bytes[end] != '\r') {
      end++;
    }
    byte[] changed =
        end > at && first(bytes, at, end) == '{'
            ? edits.apply(Arrays.copyOfRange(bytes, at, end))
            : null;
    if (changed == null) {
      out.writeBytes(bytes, from, to - from);
    } else {
      out.writeBytes(bytes, from, at - from);
      out.writeBytes(changed);
      out.writeBytes(bytes, end, to - end);
    }
  }

  private static int first(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && bytes[at] == ' ') {
      at++;
    }
    return at < to ? bytes[at] : 0;
  }

  /** Start of an event's data, after {@code data:} at the start of a line. */
  private static int dataFrom(byte[] bytes, int from, int to) {
    for (int i = from; i + DATA.length <= to; i++) {
      boolean lineStart = i == from || bytes[i - 1] == '\n' || bytes[i - 1] == '\r';
      if (lineStart && Arrays.equals(bytes, i, i + DATA.length, DATA, 0, DATA.length)) {
        return i + DATA.length;
      }
    }
    return to;
  }

  @Override
  public ByteBuf end() {
    ByteBuf rest = Unpooled.copiedBuffer(open, 0, length);
    release();
    onEnd.run();
    return rest;
  }

  @Override
  public boolean streams() {
    return true;
  }

  @Override
  public boolean betweenEvents() {
    return !unread;
  }

  @Override
  public void release() {
    open = NOTHING;
    length = 0;
  }
}
