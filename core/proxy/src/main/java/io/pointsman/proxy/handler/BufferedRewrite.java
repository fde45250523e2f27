package io.pointsman.proxy.handler;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * Filter that edits an answer in one piece, when it is complete. An answer above the limit remains
 * unchanged. Belongs to the event loop.
 */
public final class BufferedRewrite implements BodyRewrite {
  /** Changes a complete answer. */
  @FunctionalInterface
  public interface Edit {
    /** The changed answer; null to leave it unchanged. */
    byte @Nullable [] apply(byte[] whole);
  }

  private final Edit edit;
  private final int maxBytes;
  private final Runnable onEnd;
  private @Nullable ByteBuf whole = Unpooled.buffer(1024);

  /**
   * @param maxBytes maximum size in bytes of an edited answer
   * @param onEnd called at the end of the answer
   */
  public BufferedRewrite(Edit edit, int maxBytes, Runnable onEnd) {
    this.edit = edit;
    this.maxBytes = maxBytes;
    this.onEnd = onEnd;
  }

  @Override
  public ByteBuf take(ByteBuf data) {
    ByteBuf kept = whole;
    if (kept == null) {
      return data;
    }
    kept.writeBytes(data);
    data.release();
    if (kept.readableBytes() <= maxBytes) {
      return Unpooled.EMPTY_BUFFER;
    }
    whole = null;
    return kept;
  }

  @Override
  public ByteBuf end() {
    ByteBuf kept = whole;
    whole = null;
    if (kept == null) {
      onEnd.run();
      return Unpooled.EMPTY_BUFFER;
    }
    byte[] bytes = ByteBufUtil.getBytes(kept);
    byte[] changed = edit.apply(bytes);
    onEnd.run();
    if (changed == null) {
      return kept;
    }
    kept.release();
    return Unpooled.wrappedBuffer(changed);
  }

  @Override
  public boolean streams() {
    return false;
  }

  @Override
  public boolean betweenEvents() {
    return false;
  }

  @Override
  public void release() {
    if (whole != null) {
      whole.release();
      whole = null;
    }
  }
}
