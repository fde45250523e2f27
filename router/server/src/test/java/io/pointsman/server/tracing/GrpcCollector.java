package io.pointsman.server.tracing;

import static java.util.Objects.requireNonNull;

import com.google.protobuf.InvalidProtocolBufferException;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2StreamFrame;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.CopyOnWriteArrayList;

/** An OTLP collector over gRPC, without encryption. */
final class GrpcCollector implements AutoCloseable {
  private final Received received = new Received();
  private final CopyOnWriteArrayList<String> paths = new CopyOnWriteArrayList<>();
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final Channel listener;

  GrpcCollector() {
    listener =
        new ServerBootstrap()
            .group(loops)
            .channel(NioServerSocketChannel.class)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel
                        .pipeline()
                        .addLast(
                            Http2FrameCodecBuilder.forServer().build(),
                            new Http2MultiplexHandler(streams()));
                  }
                })
            .bind("127.0.0.1", 0)
            .syncUninterruptibly()
            .channel();
  }

  private ChannelInitializer<Channel> streams() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel stream) {
        stream.pipeline().addLast(new Call());
      }
    };
  }

  String url() {
    return "http://127.0.0.1:" + ((InetSocketAddress) listener.localAddress()).getPort();
  }

  Received received() {
    return received;
  }

  /** The called methods. */
  CopyOnWriteArrayList<String> paths() {
    return paths;
  }

  @Override
  public void close() {
    listener.close().syncUninterruptibly();
    loops.shutdownGracefully().syncUninterruptibly();
  }

  /** One call: reads a message, sends an empty message and status 0. */
  private final class Call extends SimpleChannelInboundHandler<Http2StreamFrame> {
    private final ByteArrayOutputStream message = new ByteArrayOutputStream();

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, Http2StreamFrame frame)
        throws InvalidProtocolBufferException {
      switch (frame) {
        case Http2HeadersFrame headers ->
            paths.add(requireNonNull(headers.headers().path()).toString());
        case Http2DataFrame data -> {
          ByteBuf bytes = data.content();
          byte[] copy = new byte[bytes.readableBytes()];
          bytes.readBytes(copy);
          message.writeBytes(copy);
          if (data.isEndStream()) {
            answer(ctx);
          }
        }
        default -> {
          // The codec handles flow control and other frames.
        }
      }
    }

    private void answer(ChannelHandlerContext ctx) throws InvalidProtocolBufferException {
      byte[] framed = message.toByteArray();
      received.take(Arrays.copyOfRange(framed, 5, framed.length));
      ctx.write(
          new DefaultHttp2HeadersFrame(
              new DefaultHttp2Headers().status("200").set("content-type", "application/grpc")));
      ctx.write(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(new byte[5])));
      ctx.writeAndFlush(
          new DefaultHttp2HeadersFrame(new DefaultHttp2Headers().set("grpc-status", "0"), true));
    }
  }
}
