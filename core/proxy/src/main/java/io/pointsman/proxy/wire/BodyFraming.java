package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** End of an answer's body, determined by its head (RFC 9112, 6.3). */
public final class BodyFraming {
  /** Kind of framing. */
  public enum Kind {
    NONE,
    LENGTH,
    CHUNKED,
    UNTIL_CLOSE
  }

  private final Kind kind;

  /** Null if the body is not chunked. */
  private final @Nullable ChunkFraming chunks;

  private long left;

  /**
   * @param method method of the request
   */
  public BodyFraming(ResponseHead head, String method) {
    kind = kind(head, method);
    chunks = kind == Kind.CHUNKED ? new ChunkFraming() : null;
    left = kind == Kind.LENGTH ? head.contentLength() : 0;
  }

  private static Kind kind(ResponseHead head, String method) {
    if (head.bodiless(method)) {
      return Kind.NONE;
    }
    if (head.chunked()) {
      return Kind.CHUNKED;
    }
    return head.contentLength() == ResponseHead.UNKNOWN ? Kind.UNTIL_CLOSE : Kind.LENGTH;
  }

  public Kind kind() {
    return kind;
  }

  /**
   * State of a chunked body.
   *
   * @throws IllegalStateException if the body is not chunked
   */
  public ChunkFraming chunks() {
    if (chunks == null) {
      throw new IllegalStateException("the body is not chunked");
    }
    return chunks;
  }

  /** True if the body has no bytes. */
  public boolean empty() {
    return kind == Kind.NONE || (kind == Kind.LENGTH && left == 0);
  }

  /**
   * Advances over the bytes of {@code in} from {@code from} to before {@code to}.
   *
   * @return the index after the body's last byte, {@link ChunkFraming#MORE}, or {@link
   *     ChunkFraming#MALFORMED}
   */
  public int scan(ByteBuf in, int from, int to) {
    return switch (kind) {
      case NONE -> from;
      case UNTIL_CLOSE -> ChunkFraming.MORE;
      case CHUNKED -> chunks().scan(in, from, to, null);
      case LENGTH -> {
        long part = Math.min(left, to - from);
        left -= part;
        yield left == 0 ? from + (int) part : ChunkFraming.MORE;
      }
    };
  }
}
