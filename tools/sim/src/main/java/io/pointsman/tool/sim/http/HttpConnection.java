package io.pointsman.tool.sim.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * One client connection. Requests are served sequentially; pipelined ones wait. Reading never
 * pauses, so the end of the connection is noticed in every phase of a request. Owned by the
 * channel's event loop.
 */
final class HttpConnection extends ChannelInboundHandlerAdapter {
  private static final int MAX_PIPELINED = 64;

  private final SimEndpoint endpoint;
  private final SimConnectionOptions options;
  private final Supplier<String> engineId;
  private final HttpListener listener;
  private final BreakFuse fuse;
  private final Queue<FullHttpRequest> pipelined = new ArrayDeque<>();
  private @Nullable ChannelHandlerContext context;
  private @Nullable SimExchange current;
  private boolean keepAlive = true;
  private boolean http10;
  private long requests;

  HttpConnection(
      SimEndpoint endpoint,
      SimConnectionOptions options,
      Supplier<String> engineId,
      HttpListener listener,
      BreakFuse fuse) {
    this.endpoint = endpoint;
    this.options = options;
    this.engineId = engineId;
    this.listener = listener;
    this.fuse = fuse;
  }

  @Override
  public void channelActive(ChannelHandlerContext active) {
    context = active;
    awaitIdleness();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object message) {
    if (!(message instanceof FullHttpRequest request)) {
      ReferenceCountUtil.release(message);
      return;
    }
    if (current == null) {
      start(request);
    } else if (pipelined.size() < MAX_PIPELINED) {
      pipelined.add(request);
    } else {
      request.release();
      ctx.close();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    pipelined.forEach(ReferenceCountUtil::release);
    pipelined.clear();
    if (current != null) {
      current.connectionLost();
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (current != null && ctx.channel().isWritable()) {
      current.connectionWritable();
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }

  /** Returns true if no request is being served. */
  boolean idle() {
    return current == null;
  }

  private ChannelHandlerContext context() {
    if (context == null) {
      throw new IllegalStateException("connection: not yet active");
    }
    return context;
  }

  private void start(FullHttpRequest request) {
    requests++;
    http10 = request.protocolVersion().equals(HttpVersion.HTTP_1_0);
    keepAlive = HttpUtil.isKeepAlive(request);
    byte[] body = ByteBufUtil.getBytes(request.content());
    SimExchange exchange =
        new SimExchange(this, request.method().name(), request.uri(), request.headers(), body);
    boolean valid = request.decoderResult().isSuccess();
    request.release();
    current = exchange;
    if (!valid) {
      keepAlive = false;
      exchange.fail(400, "BadRequestError", "request: not valid HTTP/1.1", null);
      return;
    }
    try {
      endpoint.handle(exchange);
    } catch (RequestError e) {
      exchange.fail(e.status(), e.type(), e.text(), e.param());
    } catch (RuntimeException e) {
      exchange.fail(500, "InternalServerError", e.toString(), null);
    }
  }

  void breakAfter(long bytes, boolean orderly) {
    fuse.arm(bytes, orderly);
  }

  /** Returns true if a fault or a stop ends the connection, not the client. */
  boolean broken() {
    return fuse.blown() || listener.dying();
  }

  boolean writable() {
    return context().channel().isWritable();
  }

  void flush() {
    context().flush();
  }

  ByteBuf buffer(int size) {
    return context().alloc().buffer(size);
  }

  void writeWhole(
      SimExchange exchange,
      int status,
      String contentType,
      byte[] content,
      Map<String, String> more) {
    if (exchange.malformed()) {
      writeHead(exchange);
      writeChunk(exchange, Unpooled.wrappedBuffer(content));
      return;
    }
    boolean zipped = options.gzip() && content.length > 0 && acceptsGzip(exchange);
    byte[] bytes = zipped ? gzip(content) : content;
    var response =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1,
            HttpResponseStatus.valueOf(status),
            Unpooled.wrappedBuffer(bytes));
    HttpHeaders headers = response.headers();
    more.forEach(headers::set);
    if (!contentType.isEmpty()) {
      headers.set(HttpHeaderNames.CONTENT_TYPE, contentType);
    }
    if (zipped) {
      headers.set(HttpHeaderNames.CONTENT_ENCODING, HttpHeaderValues.GZIP);
      headers.set(HttpHeaderNames.VARY, HttpHeaderNames.ACCEPT_ENCODING);
    }
    headers.setInt(HttpHeaderNames.CONTENT_LENGTH, bytes.length);
    common(response);
    context().writeAndFlush(response, context().voidPromise());
  }

  void writeHead(SimExchange exchange) {
    var head = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
    head.headers()
        .set(HttpHeaderNames.CONTENT_TYPE, "text/event-stream; charset=utf-8")
        .set(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_CACHE);
    if (http10) {
      keepAlive = false;
    } else {
      head.headers().set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
    }
    common(head);
    context().writeAndFlush(head, context().voidPromise());
  }

  void writeChunk(SimExchange exchange, ByteBuf bytes) {
    context().write(new DefaultHttpContent(bytes), context().voidPromise());
    if (exchange.malformed()) {
      ByteBuf garbage = ByteBufUtil.writeAscii(context().alloc(), "not-a-chunk\r\n\r\n");
      ChannelHandlerContext codec = context().pipeline().context(HttpServerCodec.class);
      codec.writeAndFlush(garbage);
      keepAlive = false;
      exchange.end();
    }
  }

  void writeEnd(SimExchange exchange) {
    context().writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT, context().voidPromise());
  }

  void finished(SimExchange exchange) {
    current = null;
    if (!keepAlive || listener.refusing()) {
      context().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(done -> context().close());
      return;
    }
    fuse.disarm();
    FullHttpRequest next = pipelined.poll();
    if (next != null) {
      context().executor().execute(() -> resume(next));
    } else {
      awaitIdleness();
    }
  }

  private void resume(FullHttpRequest next) {
    if (context().channel().isActive() && current == null) {
      start(next);
    } else {
      next.release();
    }
  }

  private void common(HttpResponse response) {
    response.headers().set("x-engine-id", engineId.get());
    if (!keepAlive || listener.refusing()) {
      keepAlive = false;
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
    } else if (http10) {
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
    }
  }

  private void awaitIdleness() {
    if (options.keepAliveSeconds() > 0) {
      long seen = requests;
      long millis = Math.round(options.keepAliveSeconds() * 1000);
      context().executor().schedule(() -> closeIfIdleSince(seen), millis, TimeUnit.MILLISECONDS);
    }
  }

  private void closeIfIdleSince(long seen) {
    if (requests == seen && current == null) {
      context().close();
    }
  }

  private static boolean acceptsGzip(SimExchange exchange) {
    String accepted = exchange.headers().get(HttpHeaderNames.ACCEPT_ENCODING, "");
    return accepted.toLowerCase(Locale.ROOT).contains("gzip");
  }

  private static byte[] gzip(byte[] content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
