package io.pointsman.proxy.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamFrame;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import org.jspecify.annotations.Nullable;

/**
 * Makes one HTTP/2 stream an HTTP/1.1 connection with one request, for the handler behind it. That
 * handler pauses reading, and the client's window is not renewed; it sees the channel as not
 * writable while the client does not read. Its close in the middle of an answer becomes a reset of
 * the stream. Belongs to the connection's event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the stream
final class Http1Bridge extends ChannelDuplexHandler implements ResponseFrames.Out {
  private static final byte[] LAST_CHUNK = {'0', '\r', '\n', '\r', '\n'};

  private final Http2Client connection;
  private @Nullable ChannelHandlerContext context;
  private @Nullable ResponseFrames answer;
  private boolean chunked;
  private boolean requestEnded;
  private boolean clientReset;
  private boolean closing;

  /** The last frame that was written; null before the first. */
  private @Nullable ChannelFuture last;

  Http1Bridge(Http2Client connection) {
    this.connection = connection;
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    context = ctx;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (msg instanceof Http2HeadersFrame frame) {
      if (answer == null) {
        begin(ctx, frame);
      } else if (frame.isEndStream()) {
        // The trailers of a request do not go on, as with HTTP/1.1.
        end(ctx);
      }
    } else if (msg instanceof Http2DataFrame frame) {
      body(ctx, frame);
    } else {
      ReferenceCountUtil.release(msg);
    }
  }

  private void begin(ChannelHandlerContext ctx, Http2HeadersFrame frame) {
    Http2Headers headers = frame.headers();
    boolean head = "HEAD".contentEquals(headers.method() == null ? "" : headers.method());
    answer = new ResponseFrames(ctx.alloc(), head, this);
    requestEnded = frame.isEndStream();
    if (headers.contains(Http2Headers.PseudoHeaderName.PROTOCOL.value())) {
      ctx.channel().write(connection.extendedConnect());
      ctx.channel().close();
      return;
    }
    RequestText text = new RequestText(headers, requestEnded);
    ByteBuf out = ctx.alloc().buffer(512);
    if (text.write(out)) {
      chunked = text.chunked();
      ctx.fireChannelRead(out);
    } else {
      out.release();
      abort(ctx, Http2Error.PROTOCOL_ERROR);
    }
  }

  /** Resets the stream. */
  private void abort(ChannelHandlerContext ctx, Http2Error why) {
    closing = true;
    ctx.write(new DefaultHttp2ResetFrame(why));
    ctx.flush();
    ctx.close();
  }

  private void body(ChannelHandlerContext ctx, Http2DataFrame frame) {
    ByteBuf data = frame.content();
    boolean ends = frame.isEndStream();
    requestEnded |= ends;
    if (!chunked) {
      pass(ctx, data);
      return;
    }
    ByteBuf out = ctx.alloc().buffer(data.readableBytes() + 16);
    if (data.isReadable()) {
      RequestText.writeChunk(out, data);
    }
    data.release();
    if (ends) {
      out.writeBytes(LAST_CHUNK);
    }
    pass(ctx, out);
  }

  private static void pass(ChannelHandlerContext ctx, ByteBuf bytes) {
    if (bytes.isReadable()) {
      ctx.fireChannelRead(bytes);
    } else {
      bytes.release();
    }
  }

  private void end(ChannelHandlerContext ctx) {
    requestEnded = true;
    if (chunked) {
      ctx.fireChannelRead(ctx.alloc().buffer(LAST_CHUNK.length).writeBytes(LAST_CHUNK));
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof Http2ResetFrame) {
      clientReset = true;
      // Later, because the stream is still open. Without it, a stream without reads would not end
      // before it is read.
      ctx.executor().execute(() -> ctx.channel().close());
    } else {
      ctx.fireUserEventTriggered(event);
    }
  }

  /** After an error of the stream the codec resets it itself, with the right code. */
  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (cause instanceof Http2Exception) {
      closing = true;
    } else {
      ctx.fireExceptionCaught(cause);
    }
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
    ResponseFrames frames = answer;
    if (!(msg instanceof ByteBuf bytes) || frames == null) {
      ReferenceCountUtil.release(msg);
      promise.tryFailure(new ClosedChannelException());
      return;
    }
    frames.read(bytes);
    ChannelFuture sent = last;
    if (!promise.isVoid()) {
      if (sent == null) {
        promise.trySuccess();
      } else {
        sent.addListener(_ -> promise.trySuccess());
      }
    }
  }

  @Override
  public void headers(Http2Headers headers, boolean end) {
    send(new DefaultHttp2HeadersFrame(headers, end));
    connection.answers();
  }

  @Override
  public void data(ByteBuf data, boolean end) {
    send(new DefaultHttp2DataFrame(data, end));
  }

  private void send(Http2StreamFrame frame) {
    ChannelHandlerContext ctx = context;
    if (ctx == null) {
      ReferenceCountUtil.release(frame);
      return;
    }
    last = ctx.write(frame).addListener(ChannelFutureListener.CLOSE_ON_FAILURE);
  }

  /**
   * Ends the stream. An answer that is complete reaches the client even if the request is not; the
   * client learns that the rest is not needed. An incomplete answer is reset.
   */
  @Override
  public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
    ResponseFrames frames = answer;
    ChannelFuture sent = last;
    boolean complete = frames != null && frames.done();
    if (closing || clientReset || (complete && requestEnded)) {
      ctx.close(promise);
    } else if (complete && sent != null) {
      closing = true;
      ctx.flush();
      sent.addListener(_ -> finish(ctx, Http2Error.NO_ERROR, promise));
    } else {
      closing = true;
      finish(ctx, Http2Error.INTERNAL_ERROR, promise);
    }
  }

  private static void finish(ChannelHandlerContext ctx, Http2Error why, ChannelPromise promise) {
    ctx.write(new DefaultHttp2ResetFrame(why));
    ctx.flush();
    ctx.close(promise);
  }
}
