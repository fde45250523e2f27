package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * The last bytes of an answer, copied as they pass. It takes no more memory than has come, because
 * most answers in one piece are short. Belongs to the event loop.
 */
public final class AnswerTail {
  private static final byte[] NOTHING = {};

  private final int most;
  private byte[] kept = NOTHING;
  private int length;

  /**
   * @param most bytes kept
   */
  public AnswerTail(int most) {
    this.most = most;
  }

  /** What is readable in {@code in} continues the answer; {@code in} is left as it is. */
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

  /** To what has come of an answer in one buffer; twice as much for each that follows. */
  private void grow(int needed) {
    kept = Arrays.copyOf(kept, Math.min(most, Math.max(needed, 2 * kept.length)));
  }

  /** The bytes, from the beginning of the array on; not a copy. */
  public byte[] bytes() {
    return kept;
  }

  /** How many there are. */
  public int length() {
    return length;
  }
}
