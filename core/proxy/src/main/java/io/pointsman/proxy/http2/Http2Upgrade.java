package io.pointsman.proxy.http2;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.AsciiString;
import io.pointsman.proxy.exchange.ClientConnection;
import io.pointsman.proxy.exchange.ProtocolSwitch;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.wire.RequestHead;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The upgrade from HTTP/1.1 to HTTP/2 in clear text (RFC 7540, 3.2), for requests without a body.
 * Other requests for it are served with HTTP/1.1.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection
public final class Http2Upgrade implements ProtocolSwitch {
  private static final Logger LOG = LoggerFactory.getLogger(Http2Upgrade.class);

  private static final byte[] SWITCHES =
      "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: h2c\r\n\r\n"
          .getBytes(US_ASCII);

  /** Bytes of one setting: its number and its value. */
  private static final int SETTING_BYTES = 6;

  private final Http2FrontSettings settings;
  private final Runnable begun;

  /**
   * @param begun called when a connection switches
   */
  public Http2Upgrade(Http2FrontSettings settings, Runnable begun) {
    this.settings = settings;
    this.begun = begun;
  }

  @Override
  public boolean asks(RequestHead head) {
    return ofClient(head) != null;
  }

  private static @Nullable Http2Settings ofClient(RequestHead head) {
    String coded = head.http2Upgrade();
    if (coded == null) {
      return null;
    }
    try {
      ByteBuffer bytes = ByteBuffer.wrap(Base64.getUrlDecoder().decode(coded));
      if (bytes.remaining() % SETTING_BYTES != 0) {
        return null;
      }
      Http2Settings read = new Http2Settings();
      while (bytes.hasRemaining()) {
        read.put(bytes.getChar(), Long.valueOf(bytes.getInt() & 0xffff_ffffL));
      }
      return read;
    } catch (IllegalArgumentException _) {
      return null;
    }
  }

  @Override
  public void take(LoopState state, Channel channel, RequestHead head, @Nullable ByteBuf ahead) {
    channel.writeAndFlush(channel.alloc().buffer(SWITCHES.length).writeBytes(SWITCHES));
    Http2Settings ofClient = ofClient(head);
    try {
      if (ofClient == null) {
        throw new IllegalStateException("settings changed");
      }
      begun.run();
      Http2Client.upgrade(state, channel, settings, ofClient, headers(head));
      channel.pipeline().remove(ClientConnection.class);
    } catch (Http2Exception e) {
      LOG.debug("{} cannot switch to HTTP/2", channel, e);
      channel.close();
    }
    // Now the first handler, because it was the only one before.
    if (ahead != null) {
      channel.pipeline().fireChannelRead(ahead);
    }
  }

  private static Http2Headers headers(RequestHead head) {
    Http2Headers headers =
        new DefaultHttp2Headers(false)
            .method(AsciiString.of(head.method()))
            .path(AsciiString.of(head.uri()))
            .scheme(AsciiString.of("http"));
    head.forEach(
        (name, value) -> {
          String lower = name.toString().toLowerCase(Locale.ROOT);
          switch (lower) {
            case "host" -> headers.authority(value);
            case "connection", "upgrade", "http2-settings", "keep-alive", "te" -> {}
            default -> headers.add(lower, value);
          }
        });
    return headers;
  }
}
