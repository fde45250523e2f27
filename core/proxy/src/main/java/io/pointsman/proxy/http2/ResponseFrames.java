package io.pointsman.proxy.http2;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Reader of the router's own HTTP/1.1 answers. Their framing was checked before. It makes the parts
 * of an HTTP/2 response from them: heads, interim ones first, data, and trailers.
 */
final class ResponseFrames {
  /** Receiver of the parts. */
  interface Out {
    /** Sends a head, or trailers. */
    void headers(Http2Headers headers, boolean last);

    /** Sends a part of the body. Its ownership passes. */
    void data(ByteBuf data, boolean last);
  }

  private enum State {
    HEAD,
    LENGTH,
    CHUNKS,
    TRAILERS,
    UNKNOWN_END,
    DONE
  }

  private final ByteBufAllocator allocator;
  private final boolean bodiless;
  private final Out out;
  private State state = State.HEAD;
  private final StringBuilder line = new StringBuilder();

  /** The head that is being read; null before its first line. */
  private @Nullable Http2Headers head;

  private int status;
  private long length;
  private boolean chunked;

  /** Bytes of the current chunk or body that are missing. */
  private long left;

  /** Bytes of the line break after a chunk that are missing. */
  private int lineBreak;

  private @Nullable Http2Headers trailers;

  /**
   * @param bodiless true if the request's method is HEAD
   */
  ResponseFrames(ByteBufAllocator allocator, boolean bodiless, Out out) {
    this.allocator = allocator;
    this.bodiless = bodiless;
    this.out = out;
  }

  /** True if the last part was sent. */
  boolean done() {
    return state == State.DONE;
  }

  /** Reads a part of the answer. Its ownership passes to this method. */
  void read(ByteBuf in) {
    try {
      while (in.isReadable() && state != State.DONE) {
        switch (state) {
          case HEAD -> readHead(in);
          case LENGTH -> {
            int run = (int) Math.min(left, in.readableBytes());
            left -= run;
            state = left == 0 ? State.DONE : State.LENGTH;
            out.data(in.readRetainedSlice(run), left == 0);
          }
          case CHUNKS -> readChunks(in);
          case TRAILERS -> readTrailers(in);
          case UNKNOWN_END -> out.data(in.readRetainedSlice(in.readableBytes()), false);
          case DONE -> {}
        }
      }
    } finally {
      in.release();
    }
  }

  /** Reads up to the end of a line. Returns null if it continues after these bytes. */
  private @Nullable String line(ByteBuf in) {
    int end = in.indexOf(in.readerIndex(), in.writerIndex(), (byte) '\n');
    int stop = end < 0 ? in.writerIndex() : end;
    line.append(in.readCharSequence(stop - in.readerIndex(), ISO_8859_1));
    if (end < 0) {
      return null;
    }
    in.skipBytes(1);
    int length = line.length();
    String read =
        line.substring(0, length > 0 && line.charAt(length - 1) == '\r' ? length - 1 : length);
    line.setLength(0);
    return read;
  }

  private void readHead(ByteBuf in) {
    String next = line(in);
    if (next == null) {
      return;
    }
    Http2Headers lines = head;
    if (lines == null) {
      status = Integer.parseInt(next, 9, 12, 10);
      length = -1;
      chunked = false;
      head = new DefaultHttp2Headers(false).status(AsciiString.of(next.substring(9, 12)));
    } else if (!next.isEmpty()) {
      add(lines, next, true);
    } else {
      head = null;
      endHead(lines);
    }
  }

  private void add(Http2Headers to, String next, boolean framing) {
    int colon = next.indexOf(':');
    String name = next.substring(0, colon).toLowerCase(Locale.ROOT);
    String value = next.substring(colon + 1).strip();
    switch (name) {
      case "connection", "keep-alive", "proxy-connection", "upgrade" -> {
        return;
      }
      case "transfer-encoding" -> {
        chunked |= framing;
        return;
      }
      case "content-length" -> length = framing ? Long.parseLong(value) : length;
      default -> {}
    }
    to.add(
        new AsciiString(name.getBytes(ISO_8859_1), false),
        new AsciiString(value.getBytes(ISO_8859_1), false));
  }

  private void endHead(Http2Headers lines) {
    if (status < 200) {
      out.headers(lines, false);
      return;
    }
    if (bodiless || status == 204 || status == 304 || (length == 0 && !chunked)) {
      state = State.DONE;
    } else if (chunked) {
      state = State.CHUNKS;
    } else if (length > 0) {
      state = State.LENGTH;
      left = length;
    } else {
      state = State.UNKNOWN_END;
    }
    out.headers(lines, state == State.DONE);
  }

  /** Reads all complete parts of chunks, and sends their contents together. */
  private void readChunks(ByteBuf in) {
    ByteBuf data = null;
    boolean joined = false;
    while (in.isReadable() && state == State.CHUNKS) {
      if (left > 0) {
        int run = (int) Math.min(left, in.readableBytes());
        left -= run;
        lineBreak = left == 0 ? 2 : 0;
        if (data == null) {
          data = in.readRetainedSlice(run);
        } else {
          if (!joined) {
            joined = true;
            ByteBuf all = allocator.buffer(data.readableBytes() + run + in.readableBytes());
            all.writeBytes(data);
            data.release();
            data = all;
          }
          data.writeBytes(in, run);
        }
      } else if (lineBreak > 0) {
        int run = Math.min(lineBreak, in.readableBytes());
        lineBreak -= run;
        in.skipBytes(run);
      } else {
        beginChunk(line(in));
      }
    }
    boolean last = state == State.TRAILERS && endsAt(in);
    if (last) {
      in.skipBytes(2);
      state = State.DONE;
    }
    if (data != null || last) {
      out.data(data == null ? Unpooled.EMPTY_BUFFER : data, last);
    }
  }

  /** True if the body ends here, without trailers. */
  private static boolean endsAt(ByteBuf in) {
    return in.readableBytes() >= 2 && in.getByte(in.readerIndex()) == '\r';
  }

  private void beginChunk(@Nullable String size) {
    if (size == null) {
      return;
    }
    int end = 0;
    while (end < size.length() && Character.digit(size.charAt(end), 16) >= 0) {
      end++;
    }
    left = Long.parseLong(size, 0, end, 16);
    state = left == 0 ? State.TRAILERS : State.CHUNKS;
  }

  private void readTrailers(ByteBuf in) {
    String next = line(in);
    if (next == null) {
      return;
    }
    Http2Headers lines = trailers;
    if (!next.isEmpty()) {
      if (lines == null) {
        lines = new DefaultHttp2Headers(false);
        trailers = lines;
      }
      add(lines, next, false);
      return;
    }
    state = State.DONE;
    if (lines == null) {
      out.data(Unpooled.EMPTY_BUFFER, true);
    } else {
      out.headers(lines, true);
    }
  }
}
