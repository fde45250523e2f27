package io.pointsman.proxy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.proxy.reply.ProxyError;
import java.nio.CharBuffer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/**
 * Refuses HTTP in clear text at a port with TLS, with a response that a person can read. It is in
 * front of the handler of TLS, which would close the connection without a word.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection
final class PlainHttpRefusal extends ChannelInboundHandlerAdapter {
  /** Maximum time in which the client reads the response and closes the connection. */
  private static final long LINGER_SECONDS = 2;

  private boolean refused;

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (refused) {
      ReferenceCountUtil.release(msg);
    } else if (msg instanceof ByteBuf bytes && bytes.isReadable() && startsRequest(bytes)) {
      bytes.release();
      refuse(ctx);
    } else {
      ctx.pipeline().remove(this);
      ctx.fireChannelRead(msg);
    }
  }

  /** True for a method of HTTP. Records of TLS start with a small number. */
  private static boolean startsRequest(ByteBuf bytes) {
    byte first = bytes.getByte(bytes.readerIndex());
    return first >= 'A' && first <= 'Z';
  }

  private void refuse(ChannelHandlerContext ctx) {
    refused = true;
    // Reports a failed handshake.
    ctx.pipeline().remove(SslHandler.class);
    ProxyError error = ProxyError.MALFORMED_REQUEST;
    String body = error.json("request: clear text at a port with TLS (expected: https)");
    String answer =
        """
        HTTP/1.1 %d Bad Request
        content-type: application/json
        connection: close
        content-length: %d

        %s\
        """
            .formatted(error.status(), body.length(), body);
    ByteBuf bytes =
        ByteBufUtil.encodeString(
            ctx.alloc(), CharBuffer.wrap(answer.replace("\n", "\r\n")), StandardCharsets.US_ASCII);
    // A close with unread bytes of the client would reset the connection and lose the response.
    ctx.writeAndFlush(bytes)
        .addListener(
            _ -> {
              if (ctx.channel() instanceof DuplexChannel duplex) {
                duplex.shutdownOutput();
              }
            });
    ctx.executor().schedule(() -> ctx.close(), LINGER_SECONDS, TimeUnit.SECONDS);
  }
}
