package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.request.event.EventKind;
import io.pointsman.request.event.EventReader;
import java.util.Arrays;

/**
 * Search for the first output in an event stream, as it passes. It reads nothing after it. Earlier
 * events may be long, because they repeat the request; only their start is kept. Belongs to the
 * event loop.
 */
public final class StreamOpening {
  /**
   * Number of bytes that are read at a time. The first output is usually within the first bytes.
   */
  private static final int SLICE = 2048;

  /** Number of bytes that suffice to classify an event. */
  private static final int MOST_KEPT = 4096;

  private final BodyFraming framing;
  private byte[] event = new byte[512];
  private int kept;

  /** Number of bytes of the current line. */
  private long line;

  /** The first byte of the current line. */
  private byte first;

  private EventKind state = EventKind.TAKEN;

  /**
   * @param head head of an uncompressed event stream
   * @param method method of the request
   */
  public StreamOpening(ResponseHead head, String method) {
    framing = new BodyFraming(head, method);
  }

  /**
   * Reads the readable bytes of {@code in}, including framing, which remain unchanged. Not to be
   * called after a result that {@link EventKind#decides}.
   *
   * @return the state after these bytes; {@link EventKind#OUTPUT} at the end of a stream without
   *     output
   */
  public EventKind take(ByteBuf in) {
    int to = in.writerIndex();
    for (int at = in.readerIndex(); at < to && !state.decides(); at += SLICE) {
      slice(in, at, Math.min(to, at + SLICE));
    }
    return state;
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
    if (end != ChunkFraming.MORE && !state.decides()) {
      state = EventKind.OUTPUT;
    }
  }

  private void look(ByteBuf data, int from, int to) {
    int at = from;
    while (at < to && !state.decides()) {
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
      readEvent();
    }
  }

  private void eventEnds() {
    if (kept < MOST_KEPT) {
      readEvent();
    }
    kept = 0;
  }

  private void readEvent() {
    EventKind kind = EventReader.kind(event, kept);
    if (kind == EventKind.BUSY && state == EventKind.COMPUTED) {
      // A busy engine has not started the request, but this one has.
      kind = EventKind.FAILED;
    }
    state = kind.compareTo(state) > 0 ? kind : state;
  }
}
