package io.pointsman.tool.sim.kv.link;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimJson;
import io.pointsman.tool.sim.kv.protocol.Task.SideChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Calls other engines' side channels: JSON over HTTP, one call at a time per connection, with
 * pooled idle connections. Runs on one event loop.
 */
final class PeerClient {
  private static final int IDLE_PER_PEER = 64;
  private static final int PEERS = 1024;
  private static final int CONNECT_MILLIS = 5000;
  private static final int LARGEST_ANSWER = 16 << 20;

  /** Called once with the result of a call, unless it is cancelled. */
  @FunctionalInterface
  interface Answer {
    /** Receives the status and the body; 0 and an empty object if there was no answer. */
    void came(int status, JsonNode body);
  }

  private final EventLoop loop;
  private final Bootstrap bootstrap;
  private final Map<String, Deque<Channel>> idle = new HashMap<>();

  PeerClient(EventLoop loop, Class<? extends Channel> type) {
    this.loop = loop;
    this.bootstrap =
        new Bootstrap()
            .group(loop)
            .channel(type)
            .option(ChannelOption.TCP_NODELAY, true)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MILLIS)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel
                        .pipeline()
                        .addLast(
                            new HttpClientCodec(),
                            new HttpObjectAggregator(LARGEST_ANSWER),
                            new AnswerHandler());
                  }
                });
  }

  /**
   * Posts a document.
   *
   * @param seconds time after which the call counts as unanswered
   * @return cancels the call
   */
  Runnable call(SideChannel peer, String path, JsonNode document, double seconds, Answer answer) {
    Call call = new Call(peer, path, SimJson.bytes(document), answer);
    call.send(true);
    loop.schedule(call::expire, (long) (seconds * 1000), TimeUnit.MILLISECONDS);
    return call::cancel;
  }

  /** Posts a document and ignores the answer. */
  void report(SideChannel peer, String path, JsonNode document) {
    call(peer, path, document, 10, (status, body) -> {});
  }

  /** Closes idle connections; on the loop. */
  void close() {
    List<Deque<Channel>> all = new ArrayList<>(idle.values());
    idle.clear();
    all.forEach(channels -> channels.forEach(Channel::close));
  }

  private @Nullable Channel pooled(String key) {
    Deque<Channel> channels = idle.get(key);
    if (channels == null) {
      return null;
    }
    Channel channel = channels.pollLast();
    while (channel != null && !channel.isActive()) {
      channel = channels.pollLast();
    }
    return channel;
  }

  private void pool(String key, Channel channel) {
    Deque<Channel> channels = idle.get(key);
    if (channels == null && idle.size() < PEERS) {
      channels = new ArrayDeque<>();
      idle.put(key, channels);
    }
    if (channels == null || channels.size() == IDLE_PER_PEER || !channel.isActive()) {
      channel.close();
    } else {
      channels.addLast(channel);
    }
  }

  /** One call in progress. */
  private final class Call {
    private final SideChannel peer;
    private final String key;
    private final String path;
    private final byte[] body;
    private final Answer answer;
    private @Nullable Channel channel;
    private boolean reused;
    private boolean over;

    Call(SideChannel peer, String path, byte[] body, Answer answer) {
      this.peer = peer;
      this.key = peer.host() + ":" + peer.port();
      this.path = path;
      this.body = body;
      this.answer = answer;
    }

    void send(boolean mayReuse) {
      Channel kept = mayReuse ? pooled(key) : null;
      reused = kept != null;
      if (kept != null) {
        write(kept);
        return;
      }
      ChannelFuture connecting = bootstrap.connect(peer.host(), peer.port());
      connecting.addListener(
          done -> {
            if (over) {
              connecting.channel().close();
            } else if (done.isSuccess()) {
              write(connecting.channel());
            } else {
              end(0, SimJson.object());
            }
          });
    }

    private void write(Channel open) {
      channel = open;
      open.pipeline().get(AnswerHandler.class).call = this;
      var request =
          new DefaultFullHttpRequest(
              HttpVersion.HTTP_1_1, HttpMethod.POST, path, Unpooled.wrappedBuffer(body));
      request.headers().set(HttpHeaderNames.HOST, key);
      request.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/json");
      HttpUtil.setContentLength(request, body.length);
      open.writeAndFlush(request, open.voidPromise());
    }

    void answered(Channel from, FullHttpResponse response) {
      channel = null;
      byte[] bytes = ByteBufUtil.getBytes(response.content());
      if (HttpUtil.isKeepAlive(response)) {
        pool(key, from);
      } else {
        from.close();
      }
      JsonNode document;
      try {
        document = SimJson.parse(bytes);
      } catch (RequestError e) {
        document = SimJson.object();
      }
      end(response.status().code(), document);
    }

    /**
     * The peer may have closed a pooled connection during the write, so the call is sent once more.
     */
    void broken() {
      channel = null;
      if (over) {
        return;
      }
      if (reused) {
        send(false);
      } else {
        end(0, SimJson.object());
      }
    }

    void expire() {
      if (!over) {
        Channel open = channel;
        end(0, SimJson.object());
        if (open != null) {
          open.close();
        }
      }
    }

    void cancel() {
      over = true;
      if (channel != null) {
        channel.close();
      }
    }

    private void end(int status, JsonNode document) {
      if (!over) {
        over = true;
        answer.came(status, document);
      }
    }
  }

  private static final class AnswerHandler extends SimpleChannelInboundHandler<FullHttpResponse> {
    private @Nullable Call call;

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpResponse response) {
      Call waiting = call;
      call = null;
      if (waiting != null) {
        waiting.answered(context.channel(), response);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      Call waiting = call;
      call = null;
      if (waiting != null) {
        waiting.broken();
      }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      context.close();
    }
  }
}
