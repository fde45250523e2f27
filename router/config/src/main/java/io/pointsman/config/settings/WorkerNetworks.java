package io.pointsman.config.settings;

import io.pointsman.proxy.wire.Network;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Hosts of workers that may be added at run time: networks, addresses and names. A name is not
 * resolved, because its owner could change its address afterwards. Immutable.
 */
public final class WorkerNetworks {
  /** The loopback, and the networks for private use (RFC 1918, RFC 4193). */
  public static final List<String> STANDARD =
      List.of("127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7");

  private static final String LOCAL_NAME = "localhost";
  private static final String ANY_BELOW = "*.";

  private final List<Network> networks = new ArrayList<>();
  private final Set<String> names = new HashSet<>();
  private final List<String> suffixes = new ArrayList<>();

  /**
   * @param written networks in CIDR form, addresses, host names, and names that begin with {@code
   *     *.}
   * @throws IllegalArgumentException if one of them is none of these
   */
  public WorkerNetworks(List<String> written) {
    for (String each : written) {
      String text = each.toLowerCase(Locale.ROOT);
      int slash = text.indexOf('/');
      InetAddress address = address(slash < 0 ? text : text.substring(0, slash));
      if (address != null) {
        byte[] bytes = address.getAddress();
        int bits = slash < 0 ? 8 * bytes.length : bits(each, bytes.length);
        networks.add(new Network(each, HexFormat.of().formatHex(bytes), bits));
      } else if (text.startsWith(ANY_BELOW) && isName(text.substring(2))) {
        suffixes.add(text.substring(1));
      } else if (isName(text)) {
        names.add(text);
      } else {
        throw invalid(each);
      }
    }
  }

  private static int bits(String written, int bytes) {
    String digits = written.substring(written.indexOf('/') + 1);
    int bits = digits.matches("[0-9]{1,3}") ? Integer.parseInt(digits) : -1;
    if (bits < 0 || bits > 8 * bytes) {
      throw invalid(written);
    }
    return bits;
  }

  private static IllegalArgumentException invalid(String written) {
    return new IllegalArgumentException(
        "worker-networks: "
            + written
            + " (expected: a network such as 10.0.0.0/8, an address, a host name, or *.domain)");
  }

  private static boolean isName(String text) {
    return text.matches("[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?") && !text.matches("[0-9.]+");
  }

  /** The address in a text; null if the text is none. */
  private static @Nullable InetAddress address(String text) {
    boolean written = text.contains(":") || text.matches("[0-9]{1,3}(\\.[0-9]{1,3}){3}");
    try {
      return written && !text.contains("%") ? InetAddress.ofLiteral(text) : null;
    } catch (IllegalArgumentException e) {
      return null;
    }
  }

  /**
   * True if a worker may have this host.
   *
   * @param host address or name, without brackets
   */
  public boolean contains(String host) {
    String lower = host.toLowerCase(Locale.ROOT);
    InetAddress address = address(lower.equals(LOCAL_NAME) ? "127.0.0.1" : lower);
    if (address != null) {
      return networks.stream().anyMatch(each -> each.contains(address));
    }
    return names.contains(lower) || suffixes.stream().anyMatch(lower::endsWith);
  }
}
