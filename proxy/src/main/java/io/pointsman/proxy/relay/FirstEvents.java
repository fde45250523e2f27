package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.proxy.wire.StreamOpening;
import io.pointsman.request.event.EventKind;
import org.jspecify.annotations.Nullable;

/**
 * What an answer's body tells until its first output, and the bytes until then, where they may
 * become another worker's. Belongs to the event loop.
 */
public final class FirstEvents {
  /** Larger beginnings of a stream reach the client before its first output. */
  private static final int MOST_KEPT = 1 << 18;

  private static final int OK = 200;

  /** Null once the first output is there; of what is no stream of events, any byte is output. */
  private @Nullable StreamOpening opening;

  private EventKind told = EventKind.TAKEN;
  private @Nullable ByteBuf kept;

  /**
   * @param head of the answer, valid during this call
   * @param method of the request
   */
  public FirstEvents(ResponseHead head, String method) {
    boolean readable = head.status() == OK && head.eventStream() && !head.encoded();
    opening = readable ? new StreamOpening(head, method) : null;
  }

  /** What the body has told so far, {@code in} included, which is left as it is. */
  public EventKind read(ByteBuf in) {
    if (opening != null) {
      told = opening.take(in);
    } else if (!told.decides()) {
      told = EventKind.OUTPUT;
    }
    if (told.decides()) {
      opening = null;
    }
    return told;
  }

  /** What the body has told so far. */
  public EventKind told() {
    return told;
  }

  /**
   * Keeps a part of the body, copied: buffers of connections are larger than what comes in them.
   *
   * @param in taken over, unless it is too much
   * @return false if it is too much
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

  /** Whether something is kept. */
  public boolean keeps() {
    return kept != null;
  }

  /** What was kept, and {@code in} behind it; handed over both ways. */
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

  /** Lets go of what is kept. */
  public void release() {
    if (kept != null) {
      kept.release();
      kept = null;
    }
  }
}
