package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.proxy.reply.StageErrors;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * Filter that gives an error of a prefill or decode worker the form of {@link StageErrors}. Of a
 * larger body only the beginning is read. Belongs to the event loop.
 */
final class StageErrorBody implements BodyRewrite {
  private final Role role;
  private final int status;
  private final ByteBuf beginning = Unpooled.buffer(1024);

  private StageErrorBody(Role role, int status) {
    this.role = role;
    this.status = status;
  }

  /** The filter for an answer; null if it is no such error, or has no readable body. */
  static @Nullable StageErrorBody of(Worker worker, RequestHead request, ResponseHead answer) {
    boolean readable =
        !answer.bodiless(request.method()) && !answer.encoded() && answer.contentLength() != 0;
    return answer.status() >= 400 && readable && StageErrors.apply(worker.spec().role())
        ? new StageErrorBody(worker.spec().role(), answer.status())
        : null;
  }

  @Override
  public ByteBuf take(ByteBuf data) {
    int room = BufferedResponse.MOST_BYTES - beginning.readableBytes();
    beginning.writeBytes(data, Math.min(room, data.readableBytes()));
    data.release();
    return Unpooled.EMPTY_BUFFER;
  }

  @Override
  public ByteBuf end() {
    return Unpooled.wrappedBuffer(StageErrors.of(role, status, ByteBufUtil.getBytes(beginning)));
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
    if (beginning.refCnt() > 0) {
      beginning.release();
    }
  }
}
