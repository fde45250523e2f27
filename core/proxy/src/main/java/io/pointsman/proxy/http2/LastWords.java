package io.pointsman.proxy.http2;

import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The first handler of a connection that ends because of an error. It closes the output and
 * discards further bytes of the client for a moment. A close with unread bytes would be a reset,
 * and the client would lose the reason. Belongs to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // the channel closes in any case
final class LastWords extends ChannelDuplexHandler {
  private static final long MOST_MILLIS = 2_000;

  private boolean ending;
  private @Nullable Future<?> end;

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (ending) {
      ReferenceCountUtil.release(msg);
    } else {
      ctx.fireChannelRead(msg);
    }
  }

  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    if (ending || !ctx.channel().isActive() || !(ctx.channel() instanceof DuplexChannel duplex)) {
      ctx.close(promise);
      return;
    }
    ending = true;
    duplex.shutdownOutput();
    ctx.read();
    end = ctx.executor().schedule(() -> ctx.close(promise), MOST_MILLIS, TimeUnit.MILLISECONDS);
  }

  /** Asks for further bytes: a handler behind this one drops requests after a close. */
  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    ctx.fireChannelReadComplete();
    if (ending) {
      ctx.read();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (end != null) {
      end.cancel(false);
    }
    ctx.fireChannelInactive();
  }
}
