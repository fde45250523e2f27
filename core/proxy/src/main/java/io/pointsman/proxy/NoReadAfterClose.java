package io.pointsman.proxy;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;

/**
 * Drops requests for bytes after a close. The first handler of a connection over io_uring.
 *
 * <p>If bytes wait to be sent, Netty cancels its operations in the ring and closes the socket after
 * these bytes. A close within a read is followed by the request for the next bytes, so Netty posts
 * a poll after the cancellation. It then takes the end of a cancelled poll for the end of this one
 * and never cancels it. The poll keeps the socket open, and the peer waits until it leaves itself.
 */
final class NoReadAfterClose extends ChannelOutboundHandlerAdapter {
  private boolean closing;

  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    closing = true;
    ctx.close(promise);
  }

  @Override
  public void read(ChannelHandlerContext ctx) {
    if (!closing) {
      ctx.read();
    }
  }
}
