package io.pointsman.tool.sim.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;

/**
 * The handler next to the socket that, once armed, breaks the connection after a number of bytes.
 */
final class BreakFuse extends ChannelOutboundHandlerAdapter {
  /**
   * Delay between the last bytes and the reset, which could otherwise overtake them at the peer.
   */
  private static final long GRACE_MILLIS = 5;

  private long left = -1;
  private boolean orderly;
  private boolean blown;

  void arm(long bytes, boolean fin) {
    left = bytes;
    orderly = fin;
  }

  void disarm() {
    left = -1;
  }

  boolean blown() {
    return blown;
  }

  @Override
  public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
    if ((left < 0 && !blown) || !(message instanceof ByteBuf bytes)) {
      context.write(message, promise);
      return;
    }
    if (blown) {
      ReferenceCountUtil.release(message);
      promise.trySuccess();
      return;
    }
    if (bytes.readableBytes() < left) {
      left -= bytes.readableBytes();
      context.write(message, promise);
      return;
    }
    blown = true;
    context.writeAndFlush(bytes.readSlice((int) left).retain());
    bytes.release();
    promise.trySuccess();
    Channel channel = context.channel();
    channel.eventLoop().schedule(() -> close(channel), GRACE_MILLIS, TimeUnit.MILLISECONDS);
  }

  private void close(Channel channel) {
    if (!orderly) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    channel.close();
  }
}
