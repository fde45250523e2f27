package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.request.event.EventKind;
import io.pointsman.request.event.EventReader;
import java.util.Arrays;

/**
 * Looks for the first output in a stream of events, as it passes, and at nothing behind it. Events
 * that engines send before may be long, since they tell the request back: of each only the
 * beginning is kept. Belongs to the event loop.
 */
public final class StreamOpening {
  /** So much is looked at at once: the first output is mostly within the first bytes. */
  private static final int SLICE = 2048;

  /** So much of an event tells what it is. */
  private static final int MOST_KEPT = 4096;

  private final BodyFraming framing;
  private byte[] event = new byte[512];
  private int kept;

  /** Bytes of the line under way. */
  private long line;

  /** The first of them. */
  private byte first;

  private EventKind told = EventKind.TAKEN;

  /**
   * @param head of an answer that is a stream of events, not compressed
   * @param method of the request
   */
  public StreamOpening(ResponseHead head, String method) {
    framing = new BodyFraming(head, method);
  }

  /**
   * What is readable in {@code in}, framing included, continues the body; {@code in} is left as it
   * is. Not to be called again once what was told {@link EventKind#decides}.
   *
   * @return what the events so far tell; {@link EventKind#OUTPUT} at the end of a stream without
   */
  public EventKind take(ByteBuf in) {
    int to = in.writerIndex();
    for (int at = in.readerIndex(); at < to && !told.decides(); at += SLICE) {
      slice(in, at, Math.min(to, at + SLICE));
    }
    return told;
  }

  private void slice(ByteBuf in, int from, int to) {
    int end;
    if (framing.kind() == Kind.CHUNKED) {
      ByteBuf data = in.alloc().buffer(to - from);
      try {
        end = framing.chunks().scan(in, from, to, data);
        look(data, data.readerIndex(), data.writerIndex());
      } finally {
        data.release();
      }
    } else {
      end = framing.scan(in, from, to);
      look(in, from, end < 0 ? to : end);
    }
    if (end != ChunkFraming.MORE && !told.decides()) {
      told = EventKind.OUTPUT;
    }
  }

  private void look(ByteBuf data, int from, int to) {
    int at = from;
    while (at < to && !told.decides()) {
      int feed = data.indexOf(at, to, (byte) '\n');
      int end = feed < 0 ? to : feed + 1;
      keep(data, at, end);
      if (feed >= 0) {
        if (line == 1 || (line == 2 && first == '\r')) {
          eventEnds();
        }
        line = 0;
      }
      at = end;
    }
  }

  private void keep(ByteBuf data, int from, int to) {
    if (line == 0) {
      first = data.getByte(from);
    }
    line += to - from;
    int more = Math.min(to - from, MOST_KEPT - kept);
    if (more <= 0) {
      return;
    }
    if (kept + more > event.length) {
      event = Arrays.copyOf(event, Math.min(MOST_KEPT, Math.max(kept + more, 2 * event.length)));
    }
    data.getBytes(from, event, kept, more);
    kept += more;
    if (kept == MOST_KEPT) {
      tell();
    }
  }

  private void eventEnds() {
    if (kept < MOST_KEPT) {
      tell();
    }
    kept = 0;
  }

  private void tell() {
    EventKind kind = EventReader.kind(event, kept);
    if (kind == EventKind.BUSY && told == EventKind.COMPUTED) {
      // Who is busy has not begun with the request: this one has.
      kind = EventKind.FAILED;
    }
    told = kind.compareTo(told) > 0 ? kind : told;
  }
}
