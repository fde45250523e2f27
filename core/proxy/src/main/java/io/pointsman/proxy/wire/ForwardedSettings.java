package io.pointsman.proxy.wire;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Headers that describe a client's connection to engines, for example {@code X-Forwarded-For}.
 *
 * @param sent true if workers get them
 * @param trusted networks of proxies in front of the router. Their own headers of this kind are
 *     extended; those of all other clients are replaced
 */
public record ForwardedSettings(boolean sent, List<Network> trusted) {
  public static final ForwardedSettings DEFAULTS = new ForwardedSettings(true, List.of());

  public ForwardedSettings {
    trusted = List.copyOf(trusted);
  }

  /** True if the address of a connection belongs to a trusted proxy. */
  public boolean trusts(@Nullable SocketAddress remote) {
    InetAddress address = remote instanceof InetSocketAddress inet ? inet.getAddress() : null;
    return address != null && trusts(address);
  }

  /** True if the address belongs to a trusted proxy. */
  public boolean trusts(InetAddress address) {
    for (Network network : trusted) {
      if (network.contains(address)) {
        return true;
      }
    }
    return false;
  }
}
