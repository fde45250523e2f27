package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * The last bytes of an answer, copied as they pass. Its memory grows with the answer, because most
 * answers in one piece are short. Belongs to the event loop.
 */
public final class AnswerTail {
  private static final byte[] NOTHING = {};

  private final int most;
  private byte[] kept = NOTHING;
  private int length;

  /**
   * @param most maximum number of bytes to keep
   */
  public AnswerTail(int most) {
    this.most = most;
  }

  /** Appends the readable bytes of {@code in}, which remain unchanged. */
  public void append(ByteBuf in) {
    int fresh = Math.min(most, in.readableBytes());
    int stays = Math.min(length, most - fresh);
    if (stays + fresh > kept.length) {
      grow(stays + fresh);
    }
    System.arraycopy(kept, length - stays, kept, 0, stays);
    in.getBytes(in.writerIndex() - fresh, kept, stays, fresh);
    length = stays + fresh;
  }

  /** Grows to the needed size, at least to twice the present one. */
  private void grow(int needed) {
    kept = Arrays.copyOf(kept, Math.min(most, Math.max(needed, 2 * kept.length)));
  }

  /** The array that starts with the bytes; not a copy. */
  public byte[] bytes() {
    return kept;
  }

  /** Number of bytes. */
  public int length() {
    return length;
  }
}
