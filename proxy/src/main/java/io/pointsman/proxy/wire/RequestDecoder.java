package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Makes heads and bodies of the bytes that a client sends. The parts of a body with a length are
 * the buffers that were read; chunks are taken out of their framing. After a fault nothing more is
 * decoded. Belongs to one connection and its thread.
 */
public final class RequestDecoder {
  /** Hears of what was decoded. */
  public interface Sink {
    /** Whether more is to be decoded just now. */
    boolean takesMore();

    /** A head has come; one with a fault is the last thing that comes. */
    void head(RequestHead head);

    /** A part of the body, possibly an empty one; the receiver owns it. */
    void content(ByteBuf part);

    /** The body of the request, if it had one, is complete. */
    void end();

    /** The body is not framed as it should be; nothing more comes. */
    void broken();
  }

  private enum State {
    HEAD,
    LENGTH,
    CHUNKS,
    OVER
  }

  /** Most heads are smaller than this: so much is copied and looked at at a time. */
  private static final int LOOK = 2048;

  private final Sink sink;
  private final ByteBufAllocator allocator;
  private final IntFunction<byte[]> scratch;
  private final int maxTrailers;
  private final RequestParser parser;
  private State state = State.HEAD;
  private byte @Nullable [] partial;
  private int kept;
  private long left;
  private ChunkFraming chunks = new ChunkFraming();

  /**
   * @param scratch memory for the moment, of at least the given size
   * @param maxLine largest request line in bytes
   * @param maxHeaders largest total of the header lines in bytes
   */
  public RequestDecoder(
      Sink sink,
      ByteBufAllocator allocator,
      IntFunction<byte[]> scratch,
      int maxLine,
      int maxHeaders) {
    this.sink = sink;
    this.allocator = allocator;
    this.scratch = scratch;
    maxTrailers = maxHeaders;
    parser = new RequestParser(maxLine, maxHeaders);
  }

  /**
   * Decodes as much as the sink takes.
   *
   * @param in taken over
   * @return what was not decoded, handed back; null if nothing is left
   */
  public @Nullable ByteBuf decode(ByteBuf in) {
    while (in.isReadable()) {
      if (!sink.takesMore()) {
        return in;
      }
      switch (state) {
        case HEAD -> head(in);
        case LENGTH -> {
          if (in.readableBytes() <= left) {
            content(in);
            return null;
          }
          content(in.readRetainedSlice((int) left));
        }
        case CHUNKS -> chunks(in);
        case OVER -> in.skipBytes(in.readableBytes());
      }
    }
    in.release();
    return null;
  }

  private void content(ByteBuf part) {
    left -= part.readableBytes();
    boolean last = left == 0;
    if (last) {
      state = State.HEAD;
    }
    sink.content(part);
    if (last) {
      sink.end();
    }
  }

  private void head(ByteBuf in) {
    int more = Math.min(in.readableBytes(), LOOK);
    byte[] bytes = room(more);
    in.getBytes(in.readerIndex(), bytes, kept, more);
    int length = parser.parse(bytes, kept + more);
    if (length > 0) {
      in.skipBytes(length - kept);
      begin(new RequestHead(parser, bytes, length));
    } else if (length == RequestParser.FAULT) {
      in.skipBytes(more);
      begin(RequestHead.faulty(parser.fault()));
    } else {
      in.skipBytes(more);
      kept += more;
      partial = partial == null ? Arrays.copyOf(bytes, kept) : bytes;
    }
  }

  /** The bytes of the head that came before, with room for more behind them. */
  private byte[] room(int more) {
    byte[] before = partial;
    if (before == null) {
      return scratch.apply(more);
    }
    return before.length >= kept + more
        ? before
        : Arrays.copyOf(before, Math.max(kept + more, kept + kept / 2));
  }

  private void begin(RequestHead head) {
    partial = null;
    kept = 0;
    parser.reset();
    if (head.fault() != null) {
      state = State.OVER;
    } else if (head.chunked()) {
      state = State.CHUNKS;
      chunks = ChunkFraming.ofRequest(maxTrailers);
    } else if (head.contentLength() > 0) {
      state = State.LENGTH;
      left = head.contentLength();
    }
    sink.head(head);
    if (state == State.HEAD) {
      sink.end();
    }
  }

  private void chunks(ByteBuf in) {
    ByteBuf data = allocator.buffer(in.readableBytes());
    int end = chunks.scan(in, in.readerIndex(), in.writerIndex(), data);
    in.readerIndex(end >= 0 ? end : in.writerIndex());
    if (end >= 0) {
      state = State.HEAD;
    } else if (end == ChunkFraming.MALFORMED) {
      state = State.OVER;
    }
    sink.content(data);
    if (end >= 0) {
      sink.end();
    } else if (end == ChunkFraming.MALFORMED) {
      sink.broken();
    }
  }
}
