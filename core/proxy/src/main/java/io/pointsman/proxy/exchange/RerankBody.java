package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.request.strict.RerankForm;
import java.time.Instant;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/**
 * Filter that gives a rerank answer the form of vllm-router. An answer above the limit, or without
 * results, remains unchanged. Belongs to the event loop.
 */
final class RerankBody implements BodyRewrite {
  /** Maximum size in bytes of an answer that is changed. */
  private static final int MOST_BYTES = 16 << 20;

  private final RerankForm form;
  private final InstantSource clock;
  private @Nullable ByteBuf whole = Unpooled.buffer(1024);

  RerankBody(RerankForm form, InstantSource clock) {
    this.form = form;
    this.clock = clock;
  }

  @Override
  public ByteBuf take(ByteBuf data) {
    ByteBuf kept = whole;
    if (kept == null) {
      return data;
    }
    kept.writeBytes(data);
    data.release();
    if (kept.readableBytes() <= MOST_BYTES) {
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
      return Unpooled.EMPTY_BUFFER;
    }
    Instant now = clock.instant();
    byte[] changed = form.answer(ByteBufUtil.getBytes(kept), now.getEpochSecond());
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
