package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;

/** The last bytes of an answer, copied as they pass. Belongs to the event loop. */
public final class AnswerTail {
  private final byte[] kept;
  private int length;

  /**
   * @param most bytes kept
   */
  public AnswerTail(int most) {
    kept = new byte[most];
  }

  /** What is readable in {@code in} continues the answer; {@code in} is left as it is. */
  public void append(ByteBuf in) {
    int fresh = Math.min(kept.length, in.readableBytes());
    int stays = Math.min(length, kept.length - fresh);
    System.arraycopy(kept, length - stays, kept, 0, stays);
    in.getBytes(in.writerIndex() - fresh, kept, stays, fresh);
    length = stays + fresh;
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
