package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequestDecoder;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Netty's decoder in its strict form. Framing a body both ways at once, which Netty would settle in
 * favour of the chunks, is left to be refused.
 *
 * <p>A request that the client sends ahead, while another is being answered, is not decoded before
 * its turn: it stays as bytes, of which there are at most those of one read.
 */
final class ClientDecoder extends HttpRequestDecoder {
  /** Parts of a body are handed on as they came, not cut smaller. */
  private static final int NO_SMALLER_PARTS = 1 << 20;

  private final ClientConnection connection;
  private @Nullable ChannelHandlerContext context;
  private boolean decoding;
  private boolean paused;

  ClientDecoder(LimitSettings limits, ClientConnection connection) {
    super(
        new HttpDecoderConfig()
            .setMaxInitialLineLength(limits.maxUriBytes())
            .setMaxHeaderSize(limits.maxHeaderBytes())
            .setMaxChunkSize(NO_SMALLER_PARTS)
            .setAllowDuplicateContentLengths(false)
            .setStrictLineParsing(true));
    this.connection = connection;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    context = ctx;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) throws Exception {
    connection.bytesCame();
    decoding = true;
    try {
      super.channelRead(ctx, msg);
    } finally {
      decoding = false;
    }
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
    if (connection.ending()) {
      in.skipBytes(in.readableBytes());
    } else if (connection.answering()) {
      paused = true;
      connection.setReading(false);
    } else {
      super.decode(ctx, in, out);
    }
  }

  /** Netty's own would read on, because nothing was decoded. */
  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
    if (paused) {
      ctx.fireChannelReadComplete();
    } else {
      super.channelReadComplete(ctx);
    }
  }

  /** Takes up what the client sent ahead, and reads on if that was not another request. */
  void resume() {
    if (!paused || decoding) {
      return;
    }
    paused = false;
    ChannelHandlerContext ctx = context;
    if (ctx != null) {
      try {
        channelRead(ctx, Unpooled.EMPTY_BUFFER);
      } catch (Exception e) {
        ctx.fireExceptionCaught(e);
      }
    }
    if (!paused) {
      connection.setReading(true);
    }
  }

  @Override
  protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
    // Keeps both headers: RequestHead refuses them together.
  }
}
