package io.pointsman.proxy.exchange;

import io.netty.channel.Channel;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.ssl.SslHandler;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientOwner;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.retry.BodyHash;
import io.pointsman.proxy.retry.FailingClients;
import io.pointsman.proxy.tls.PeerCertificates;
import io.pointsman.proxy.wire.ClientAddress;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.proxy.wire.RequestHead;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The client at the other end of a connection: its address, the identity that its certificate or
 * its address gives it, and its part of the memory for bodies. Belongs to the connection's event
 * loop.
 */
final class ConnectionOrigin {
  private final LoopState state;
  private final Channel channel;

  /** Null before the first request. */
  private @Nullable ClientAddress address;

  /** The settings by which the address was read; they can change between two requests. */
  private @Nullable ForwardedSettings forwarded;

  /** The client by its certificate; null if it has none, or before the first request. */
  private @Nullable ClientIdentity certificate;

  private boolean certificateRead;

  /** The client's part of the memory for bodies; null if it may use all of it. */
  private @Nullable BodyBudget share;

  ConnectionOrigin(LoopState state, Channel channel) {
    this.state = state;
    this.channel = channel;
  }

  /** The client's address. */
  @SuppressWarnings("ReferenceEquality") // other settings are other objects
  private ClientAddress address() {
    ForwardedSettings now = server().live().headers().forwarded();
    ClientAddress known = address;
    if (known == null || forwarded != now) {
      boolean encrypted = own().pipeline().get(SslHandler.class) != null;
      known = ClientAddress.of(channel.remoteAddress(), encrypted, now);
      address = known;
      forwarded = now;
    }
    return known;
  }

  /** The head as received from this client, which its certificate or its address names. */
  RequestHead identified(RequestHead head) {
    ClientAddress from = address();
    ClientIdentity certified = certified();
    return head.from(from, certified == null ? from.identity(head) : certified);
  }

  /** True if the client has a verified certificate. */
  boolean hasCertificate() {
    return certified() != null;
  }

  /** True if the connection came to an address that only this machine reaches. */
  boolean cameToLoopback() {
    return isLoopback(own().localAddress());
  }

  /** True for an address that only this machine reaches; another kind of address is one. */
  static boolean isLoopback(@Nullable SocketAddress address) {
    return address instanceof InetSocketAddress local
        ? local.getAddress().isLoopbackAddress()
        : address != null;
  }

  /** The client by its certificate; null if it has none. */
  private @Nullable ClientIdentity certified() {
    if (!certificateRead) {
      certificateRead = true;
      SslHandler tls = own().pipeline().get(SslHandler.class);
      certificate = tls == null ? null : PeerCertificates.identity(tls.engine());
    }
    return certificate;
  }

  /**
   * The client in records of failures. Its identity is proved by a key that was checked, or a
   * certificate. Else its credentials, or this connection, distinguish it from others of its
   * address only, because it can invent them.
   */
  FailingClients.Client failing(RequestHead head) {
    String owner = server().owner(head);
    if (!owner.equals(ClientOwner.EVERYBODY)) {
      return FailingClients.Client.proved(hash(owner));
    }
    String address = head.identity().name();
    String key = CallerCheck.credentials(head);
    String distinct = key == null ? "connection " + own().id().asLongText() : "key " + key;
    return new FailingClients.Client(hash(address + ' ' + distinct), hash(address));
  }

  private static long hash(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return BodyHash.of(bytes, bytes.length);
  }

  /** Takes a share of the memory for bodies, unless the client is a proxy of many. */
  void enter() {
    SocketAddress remote = channel.remoteAddress();
    double most = server().live().limits().clients().bodyShare();
    if (most < 1 && !server().live().headers().forwarded().trusts(remote)) {
      share = server().bodies().enter(ClientAddress.group(remote), most);
    }
  }

  /** The memory for bodies that this client may use. */
  BodyBudget bodies() {
    BodyBudget own = share;
    return own == null ? server().bodies() : own;
  }

  /** Gives the share back. */
  void leave() {
    if (share != null) {
      server().bodies().leave(ClientAddress.group(channel.remoteAddress()));
    }
  }

  /** The channel of the socket. */
  private Channel own() {
    return channel instanceof Http2StreamChannel ? channel.parent() : channel;
  }

  /** The present context; it changes when the settings change. */
  private ServerContext server() {
    return state.server();
  }
}
