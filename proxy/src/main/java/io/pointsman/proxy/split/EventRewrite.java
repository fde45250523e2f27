package io.pointsman.proxy.split;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.course.BodyRewrite;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Changes the events of a stream. Each goes on as soon as it is complete, and as it came if nothing
 * is to be changed in it. Belongs to the event loop.
 */
final class EventRewrite implements BodyRewrite {
  /** An event that is longer goes on as it comes, unread. */
  private static final int LONGEST = 1 << 20;

  private static final byte[] DATA = {'d', 'a', 't', 'a', ':'};

  private final AnswerEdits edits;
  private final Runnable onEnd;

  /** The beginning of an event. */
  private @Nullable ByteBuf pending;

  /** Whether the event under way is passed on as it comes. */
  private boolean unread;

  /**
   * @param onEnd called when the stream is complete
   */
  EventRewrite(AnswerEdits edits, Runnable onEnd) {
    this.edits = edits;
    this.onEnd = onEnd;
  }

  @Override
  public ByteBuf take(ByteBuf data) {
    ByteBuf in = joined(data);
    byte[] bytes = ByteBufUtil.getBytes(in);
    in.release();
    ByteBuf out = Unpooled.buffer(bytes.length + 64);
    int done = 0;
    for (int end = eventEnd(bytes, 0); end > 0; end = eventEnd(bytes, done)) {
      if (unread) {
        out.writeBytes(bytes, done, end - done);
        unread = false;
      } else {
        write(bytes, done, end, out);
      }
      done = end;
    }
    keep(bytes, done, out);
    return out;
  }

  private ByteBuf joined(ByteBuf data) {
    ByteBuf before = pending;
    pending = null;
    return before == null ? data : Unpooled.wrappedBuffer(before, data);
  }

  private void keep(byte[] bytes, int from, ByteBuf out) {
    int length = bytes.length - from;
    if (unread || length > LONGEST) {
      unread = length > 0 || unread;
      out.writeBytes(bytes, from, length);
    } else if (length > 0) {
      pending = Unpooled.copiedBuffer(bytes, from, length);
    }
  }

  /** The index behind the first empty line from {@code from} on; 0 if there is none. */
  private static int eventEnd(byte[] bytes, int from) {
    for (int i = from + 1; i < bytes.length; i++) {
      if (bytes[i] != '\n') {
        continue;
      }
      boolean afterLf = bytes[i - 1] == '\n';
      boolean afterCrLf = i >= from + 2 && bytes[i - 1] == '\r' && bytes[i - 2] == '\n';
      if (afterLf || afterCrLf) {
        return i + 1;
      }
    }
    return 0;
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

  /** Where the data of an event begins: behind {@code data:} at the start of a line. */
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
    ByteBuf rest = pending;
    pending = null;
    onEnd.run();
    return rest == null ? Unpooled.EMPTY_BUFFER : rest;
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
    if (pending != null) {
      pending.release();
      pending = null;
    }
  }
}
