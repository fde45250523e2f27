package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.StreamOpening;
import io.pointsman.request.event.EventKind;
import org.jspecify.annotations.Nullable;

/**
 * The start of an answer's body, up to its first output. It classifies the events and can buffer
 * their bytes while a retry is possible. Belongs to the event loop.
 */
public final class FirstEvents {
  /**
   * Maximum number of buffered bytes. A larger start goes to the client before its first output.
   */
  private static final int MOST_KEPT = 1 << 18;

  private static final int OK = 200;

  /** Null after the first output. Without an event stream each byte is output. */
  private @Nullable StreamOpening opening;

  private EventKind kind = EventKind.TAKEN;
  private @Nullable ByteBuf kept;

  /**
   * @param head head of the answer, valid during this call
   * @param method method of the request
   */
  public FirstEvents(ResponseHead head, String method) {
    boolean readable = head.status() == OK && head.eventStream() && !head.encoded();
    opening = readable ? new StreamOpening(head, method) : null;
  }

  /** The state after {@code in}, the next bytes of the body, which remain unchanged. */
  public EventKind read(ByteBuf in) {
    if (opening != null) {
      kind = opening.take(in);
    } else if (!kind.decides()) {
      kind = EventKind.OUTPUT;
    }
    if (kind.decides()) {
      opening = null;
    }
    return kind;
  }

  /** The state after the bytes read up to this call. */
  public EventKind kind() {
    return kind;
  }

  /**
   * Buffers a copy of a part of the body, because buffers of connections are larger than their
   * content.
   *
   * @param in ownership passes to this method if it returns true
   * @return false if the part exceeds the limit
   */
  public boolean keep(ByteBuf in) {
    ByteBuf before = kept;
    if (in.readableBytes() + (before == null ? 0 : before.readableBytes()) > MOST_KEPT) {
      return false;
    }
    ByteBuf into = before == null ? in.alloc().buffer(in.readableBytes()) : before;
    kept = into;
    into.writeBytes(in);
    in.release();
    return true;
  }

  /** True if bytes are buffered. */
  public boolean keeps() {
    return kept != null;
  }

  /** The buffered bytes followed by {@code in}. The ownership of both passes with them. */
  public ByteBuf join(ByteBuf in) {
    ByteBuf before = kept;
    if (before == null) {
      return in;
    }
    kept = null;
    before.writeBytes(in);
    in.release();
    return before;
  }

  /** Releases the buffered bytes. */
  public void release() {
    if (kept != null) {
      kept.release();
      kept = null;
    }
  }
}
