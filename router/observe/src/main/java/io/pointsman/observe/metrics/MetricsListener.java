package io.pointsman.observe.metrics;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.flow.FlowControlHandler;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.Future;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.wire.ClientAddress;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The connections of the metrics port. It has an event loop of its own, so the loops of requests
 * cannot hold up probes. At most {@link #MOST} connections are open, half of them of one address.
 * If these are taken, a new one takes the place of the longest idle one, or else that of the oldest
 * incomplete request. All fields and connections belong to the event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // nobody waits for a close or a write
final class MetricsListener implements AutoCloseable {
  /** The answers to requests. May block. */
  @FunctionalInterface
  interface MetricsEndpoint {
    LocalResponse answer(String method, String uri, HttpHeaders headers, int port);
  }

  /** Maximum number of connections. */
  static final int MOST = 256;

  /** Maximum number of connections of one address. */
  static final int MOST_OF_ONE = MOST / 2;

  private static final int BACKLOG = 16;
  private static final int MOST_LINE = 4096;
  private static final int MOST_HEADERS = 16_384;
  private static final int MOST_BODY = 1024;

  private static final Duration HANDSHAKE = Duration.ofSeconds(5);

  /** Time for a request after its first byte. */
  private static final Duration REQUEST = Duration.ofSeconds(5);

  /** Time between two requests after which a connection is closed. */
  static final Duration IDLE = Duration.ofSeconds(30);

  /** Part of that time within which the first byte comes. */
  private static final int FIRST_BYTE_PART = 3;

  private static final Duration ANSWER = Duration.ofSeconds(30);

  /** Idle time after which a connection may lose its place. */
  private static final Duration EVICTABLE = Duration.ofSeconds(2);

  private static final Duration CLOSING = Duration.ofSeconds(2);

  private final EventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(
          1, new DefaultThreadFactory("pointsman-metrics", true), NioIoHandler.newFactory());

  private final Executor threads;
  private final MetricsEndpoint endpoint;
  private final ListenerTls tls;
  private final Duration idle;
  private final Channel listener;
  private final Map<String, Integer> ofAddresses = new HashMap<>();

  /** Connections that may lose their place, the longest idle first. */
  private final Set<Connection> evictable = new LinkedHashSet<>();

  /** Connections with an incomplete request, the oldest first. */
  private final Set<Connection> incomplete = new LinkedHashSet<>();

  private final Set<Connection> connections = new HashSet<>();

  /**
   * Opens the port. It accepts nothing before {@link #accept}.
   *
   * @param threads runs the endpoint
   * @param tls TLS of the connections
   * @param idle time between two requests after which a connection is closed
   * @throws IOException if the address cannot be bound
   */
  MetricsListener(
      InetSocketAddress address,
      ListenerTls tls,
      Executor threads,
      MetricsEndpoint endpoint,
      Duration idle)
      throws IOException {
    this.tls = tls;
    this.idle = idle;
    this.threads = threads;
    this.endpoint = endpoint;
    ChannelFuture bound =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.AUTO_READ, false)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    accept(channel);
                  }
                })
            .bind(address)
            .awaitUninterruptibly();
    listener = bound.channel();
    if (!bound.isSuccess()) {
      loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
      throw new IOException("bind: " + address, bound.cause());
    }
  }

  /** Accepts connections from here on. */
  void accept() {
    listener.config().setAutoRead(true);
  }

  /** Accepts no connections until {@link #accept}. */
  void pause() {
    listener.config().setAutoRead(false);
  }

  int port() {
    return ((InetSocketAddress) listener.localAddress()).getPort();
  }

  /** Closes outdated connections; those with a request close after its answer. */
  void closeOutdated() {
    listener
        .eventLoop()
        .execute(
            () ->
                List.copyOf(connections).stream()
                    .filter(each -> each.own.outdated() && !each.answering)
                    .forEach(Connection::close));
  }

  @Override
  public void close() {
    listener.close().awaitUninterruptibly(CLOSING.toMillis());
    // The end of the loop has left a connection open in about one of 200 tries.
    loop.submit(() -> List.copyOf(connections).forEach(Connection::close))
        .awaitUninterruptibly(CLOSING.toMillis());
    loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly(CLOSING.toMillis());
  }

  private void accept(Channel channel) {
    String address = ClientAddress.group(channel.remoteAddress());
    if (!hasPlace(address)) {
      channel.close();
      return;
    }
    ofAddresses.merge(address, 1, Integer::sum);
    ListenerTls.OfConnection own = tls.connection(channel.alloc());
    Connection connection = new Connection(channel, address, own);
    connections.add(connection);
    channel.closeFuture().addListener(_ -> left(connection));
    SslHandler handler = own.handler();
    if (handler != null) {
      handler.setHandshakeTimeout(HANDSHAKE.toMillis(), TimeUnit.MILLISECONDS);
      channel.pipeline().addLast(handler);
    }
    channel
        .pipeline()
        .addLast(
            connection.arrivals(),
            new HttpServerCodec(MOST_LINE, MOST_HEADERS, MOST_BODY),
            new HttpServerKeepAliveHandler(),
            new HttpObjectAggregator(MOST_BODY, true),
            new FlowControlHandler(),
            connection);
    connection.waits(idle.dividedBy(FIRST_BYTE_PART));
  }

  /** True if there is a place for one more of this address, possibly that of another one. */
  private boolean hasPlace(String address) {
    if (ofAddresses.getOrDefault(address, 0) >= MOST_OF_ONE) {
      evict(each -> each.address.equals(address));
    } else if (connections.size() >= MOST) {
      evict(_ -> true);
    }
    return connections.size() < MOST && ofAddresses.getOrDefault(address, 0) < MOST_OF_ONE;
  }

  private void evict(Predicate<Connection> which) {
    Stream.concat(evictable.stream(), incomplete.stream())
        .filter(which)
        .findFirst()
        .ifPresent(Connection::close);
  }

  private void left(Connection connection) {
    connections.remove(connection);
    ofAddresses.computeIfPresent(connection.address, (_, count) -> count == 1 ? null : count - 1);
    connection.clear();
  }

  /** One connection. It receives a request, waits for its answer, or waits for a request. */
  private final class Connection extends ChannelInboundHandlerAdapter {
    private final Channel channel;
    private final String address;
    private final ListenerTls.OfConnection own;
    private boolean receiving;
    private boolean answering;
    private @Nullable Future<?> end;
    private @Nullable Future<?> eviction;

    Connection(Channel channel, String address, ListenerTls.OfConnection own) {
      this.channel = channel;
      this.address = address;
      this.own = own;
    }

    /** The handler of arriving bytes, after their decryption. */
    ChannelInboundHandlerAdapter arrivals() {
      return new ChannelInboundHandlerAdapter() {
        @Override
        public void channelRead(ChannelHandlerContext context, Object bytes) {
          arrived();
          context.fireChannelRead(bytes);
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext context, Object event) {
          if (event instanceof SslHandshakeCompletionEvent) {
            shook(context);
          }
          context.fireUserEventTriggered(event);
        }
      };
    }

    private void shook(ChannelHandlerContext context) {
      SslHandler handler = context.pipeline().get(SslHandler.class);
      if (handler != null) {
        ServerTls.refuseRenegotiation(handler.engine());
      }
    }

    private void arrived() {
      if (!receiving && !answering) {
        receiving = true;
        ends(REQUEST);
        incomplete.add(this);
      }
    }

    /** Waits for a request. */
    void waits(Duration most) {
      receiving = false;
      answering = false;
      ends(most);
      eviction =
          channel
              .eventLoop()
              .schedule(() -> evictable.add(this), EVICTABLE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Closes the connection after a time, unless its state changes before. */
    private void ends(Duration after) {
      clear();
      end = channel.eventLoop().schedule(this::close, after.toMillis(), TimeUnit.MILLISECONDS);
    }

    void clear() {
      evictable.remove(this);
      incomplete.remove(this);
      if (end != null) {
        end.cancel(false);
      }
      if (eviction != null) {
        eviction.cancel(false);
      }
    }

    /** Closes the connection at once, without the messages of TLS. */
    void close() {
      evictable.remove(this);
      incomplete.remove(this);
      channel.unsafe().close(channel.newPromise());
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      FullHttpRequest request = (FullHttpRequest) message;
      try {
        answering = true;
        ends(ANSWER);
        if (request.decoderResult().isFailure()) {
          refuse();
          return;
        }
        channel.config().setAutoRead(false);
        String method = request.method().name();
        String uri = request.uri();
        HttpHeaders headers = request.headers().copy();
        threads.execute(() -> answer(method, uri, headers));
      } finally {
        request.release();
      }
    }

    /** Answers a malformed request, and closes the connection. */
    private void refuse() {
      FullHttpResponse response =
          response(LocalResponse.text(ProxyError.MALFORMED_REQUEST, "malformed request\n"), false);
      response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
      channel.writeAndFlush(response).addListener(_ -> close());
    }

    /** Answers a request, on a thread of its own. */
    private void answer(String method, String uri, HttpHeaders headers) {
      try {
        send(endpoint.answer(method, uri, headers, port()), method.equals("HEAD"));
      } catch (RuntimeException | Error e) {
        channel.eventLoop().execute(this::close);
        throw e;
      }
    }

    private static FullHttpResponse response(LocalResponse answer, boolean head) {
      FullHttpResponse response =
          new DefaultFullHttpResponse(
              HttpVersion.HTTP_1_1,
              HttpResponseStatus.valueOf(answer.status()),
              head ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(answer.body()));
      answer.headers().forEach((name, value) -> response.headers().set(name, value));
      response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, answer.body().length);
      return response;
    }

    private void send(LocalResponse answer, boolean head) {
      channel
          .writeAndFlush(response(answer, head))
          .addListener(
              sent -> {
                if (sent.isSuccess() && channel.isActive() && !own.outdated()) {
                  waits(idle);
                  channel.config().setAutoRead(true);
                } else {
                  close();
                }
              });
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      close();
    }
  }
}
