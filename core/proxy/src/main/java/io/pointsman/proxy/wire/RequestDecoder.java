package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.Arrays;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Decoder of a client's bytes into heads and bodies. The parts of a body with a length are the
 * buffers that were read. Chunks are removed. After an error it decodes nothing more. Belongs to
 * one connection and its thread.
 */
public final class RequestDecoder {
  /** Receiver of decoded parts. */
  public interface Sink {
    /** True if more may be decoded at present. */
    boolean takesMore();

    /** Passes a head. No call follows a head with a fault. */
    void head(RequestHead head);

    /** Passes a part of the body, possibly empty, with its ownership. */
    void content(ByteBuf part);

    /** Reports the end of the request, including its body. */
    void end();

    /** Reports that the framing of the body is malformed. No call follows. */
    void broken();
  }

  private enum State {
    HEAD,
    LENGTH,
    CHUNKS,
    OVER
  }

  /** Number of bytes that are copied and parsed at a time. Most heads are smaller. */
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
   * @param scratch scratch memory of at least the given size
   * @param maxLine maximum length of the request line in bytes
   * @param maxHeaders maximum total size of the header lines in bytes
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
   * Decodes as much as the sink accepts.
   *
   * @param in ownership passes to this method
   * @return the rest, with its ownership; null if there is none
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
      begin(RequestHead.faulty(parser.fault(), parser.problem()));
    } else {
      in.skipBytes(more);
      kept += more;
      partial = partial == null ? Arrays.copyOf(bytes, kept) : bytes;
    }
  }

  /** The earlier bytes of the head, with room for {@code more} bytes after them. */
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
