package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.netty.buffer.ByteBuf;
import io.netty.util.NetUtil;
import io.pointsman.proxy.identity.ClientIdentity;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The address of a client's connection, as workers get it: {@code X-Forwarded-For}, {@code
 * X-Forwarded-Proto} and {@code X-Real-IP}. Such headers of a trusted proxy are extended; those of
 * any other client are replaced, because it can write anything. Immutable.
 */
public final class ClientAddress {
  private static final String UNKNOWN = "unknown";
  private static final int GROUP_BYTES = 8;
  private static final int IPV4_BYTES = 4;
  private static final String[] NOTHING = {};

  private final String text;
  private final boolean sent;
  private final boolean trusted;
  private final String scheme;
  private final ForwardedSettings settings;

  /** The headers for workers if the client is not a trusted proxy. */
  private final byte[] lines;

  /** The client with this address. */
  private final ClientIdentity identity;

  private ClientAddress(
      @Nullable InetAddress address, boolean encrypted, ForwardedSettings settings) {
    this.settings = settings;
    text = address == null ? UNKNOWN : NetUtil.toAddressString(plain(address));
    sent = settings.sent() && address != null;
    trusted = address != null && settings.trusts(address);
    scheme = encrypted ? "https" : "http";
    lines =
        "x-forwarded-for: %s\r\nx-forwarded-proto: %s\r\nx-real-ip: %s\r\n"
            .formatted(text, scheme, text)
            .getBytes(US_ASCII);
    identity = address == null ? ClientIdentity.UNKNOWN : identity(plain(address));
  }

  /** One client can have all addresses of an IPv6 network of 64 bits. */
  private static ClientIdentity identity(InetAddress address) {
    byte[] bytes = address.getAddress();
    String name = NetUtil.toAddressString(address);
    if (bytes.length > IPV4_BYTES) {
      Arrays.fill(bytes, GROUP_BYTES, bytes.length, (byte) 0);
      name = NetUtil.bytesToIpAddress(bytes) + "/64";
    }
    return new ClientIdentity(ClientIdentity.Kind.ADDRESS, name, Set.of());
  }

  /**
   * The client by its address. For a trusted proxy it is the last address in {@code
   * X-Forwarded-For} that is not of a trusted proxy, because a client can write those before it.
   */
  public ClientIdentity identity(RequestHead head) {
    String[] reported = trusted ? head.joined(HeaderName.FORWARDED_FOR).split(",", -1) : NOTHING;
    ClientIdentity found = identity;
    for (int i = reported.length - 1; i >= 0; i--) {
      InetAddress address = address(reported[i].strip());
      if (address == null) {
        break;
      }
      found = identity(plain(address));
      if (!settings.trusts(address)) {
        break;
      }
    }
    return found;
  }

  /** An address in a header, possibly with brackets or a port; null if it is none. */
  private static @Nullable InetAddress address(String written) {
    int end = written.startsWith("[") ? written.indexOf(']') : -1;
    boolean port = end < 0 && written.indexOf(':') == written.lastIndexOf(':');
    int colon = port ? written.indexOf(':') : -1;
    String bare = end > 0 ? written.substring(1, end) : written;
    return NetUtil.createInetAddressFromIpAddressString(
        colon > 0 ? written.substring(0, colon) : bare);
  }

  /**
   * The address of a connection.
   *
   * @param remote address of the client; null if it is unknown
   * @param encrypted true if the connection uses TLS
   */
  public static ClientAddress of(
      @Nullable SocketAddress remote, boolean encrypted, ForwardedSettings settings) {
    InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
    return new ClientAddress(address, encrypted, settings);
  }

  /**
   * Identity of a client for its share of limits: its IPv4 address, or the first 64 bits of its
   * IPv6 address, because one client can have all addresses of such a network.
   */
  public static String group(@Nullable SocketAddress remote) {
    InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
    if (address == null) {
      return UNKNOWN;
    }
    byte[] bytes = Network.plain(address.getAddress());
    return HexFormat.of().formatHex(bytes, 0, Math.min(bytes.length, GROUP_BYTES));
  }

  /** The IPv4 address in a mapped one, which sockets of both versions report. */
  private static InetAddress plain(InetAddress address) {
    byte[] bytes = Network.plain(address.getAddress());
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address has 4 or 16 bytes", e);
    }
  }

  /** The address as a text without port; {@code unknown} if the connection has none. */
  public String text() {
    return text;
  }

  /** True if the client's header of this name is not forwarded unchanged. */
  boolean replaces(HeaderName name) {
    return switch (name) {
      case FORWARDED, FORWARDED_FOR -> true;
      case FORWARDED_PROTO, FORWARDED_OTHER, REAL_IP -> !trusted || !sent;
      default -> false;
    };
  }

  /** Appends the headers for a worker. */
  void write(ByteBuf out, RequestHead head) {
    if (!sent) {
      return;
    }
    if (!trusted) {
      out.writeBytes(lines);
      return;
    }
    line(out, "x-forwarded-for: ", head.joined(HeaderName.FORWARDED_FOR), text);
    if (head.joined(HeaderName.FORWARDED_PROTO).isEmpty()) {
      line(out, "x-forwarded-proto: ", "", scheme);
    }
    if (head.joined(HeaderName.REAL_IP).isEmpty()) {
      line(out, "x-real-ip: ", "", text);
    }
    String standard = head.joined(HeaderName.FORWARDED);
    if (!standard.isEmpty()) {
      String node = text.indexOf(':') < 0 ? text : "\"[" + text + "]\"";
      line(out, "forwarded: ", standard, "for=" + node + ";proto=" + scheme);
    }
  }

  private static void line(ByteBuf out, String name, String before, String value) {
    Latin1.write(out, name);
    if (!before.isEmpty()) {
      Latin1.write(out, before);
      Latin1.write(out, ", ");
    }
    Latin1.write(out, value);
    Latin1.write(out, "\r\n");
  }
}
