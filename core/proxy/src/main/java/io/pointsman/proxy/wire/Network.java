package io.pointsman.proxy.wire;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * A network of IP addresses, for example {@code 10.0.0.0/8} or {@code ::1}. Immutable.
 *
 * @param text the network as it was written
 * @param address first address, as hexadecimal digits
 * @param bits number of leading bits that all its addresses share
 */
public record Network(String text, String address, int bits) {
  private static final int MAPPED = 12;
  private static final int MAPPED_ONES = 10;
  private static final int LONGEST = 16;

  /**
   * Reads a network, or a single address.
   *
   * @throws IllegalArgumentException if the text is neither
   */
  public static Network of(String text) {
    int slash = text.indexOf('/');
    String host = slash < 0 ? text : text.substring(0, slash);
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(host);
    if (bytes == null || host.indexOf('%') >= 0) {
      throw wrong(text);
    }
    int most = bytes.length * Byte.SIZE;
    int bits = slash < 0 ? most : bits(text, slash + 1, most);
    return new Network(text, HexFormat.of().formatHex(bytes), bits);
  }

  private static int bits(String text, int from, int most) {
    String digits = text.substring(from);
    if (!digits.matches("\\d{1,3}") || Integer.parseInt(digits) > most) {
      throw wrong(text);
    }
    return Integer.parseInt(digits);
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException(
        text + " (expected: an IP address, or a network such as 10.0.0.0/8)");
  }

  /** True if the address is in this network. */
  public boolean contains(InetAddress other) {
    byte[] own = HexFormat.of().parseHex(address);
    byte[] given = plain(other.getAddress());
    if (own.length != given.length) {
      return false;
    }
    int whole = bits / Byte.SIZE;
    if (!Arrays.equals(own, 0, whole, given, 0, whole)) {
      return false;
    }
    int rest = bits % Byte.SIZE;
    return rest == 0 || ((own[whole] ^ given[whole]) & 0xff) >> (Byte.SIZE - rest) == 0;
  }

  /** The four bytes of an IPv4 address that is mapped to IPv6; otherwise the address itself. */
  static byte[] plain(byte[] address) {
    if (address.length != LONGEST || address[MAPPED_ONES] != -1 || address[MAPPED_ONES + 1] != -1) {
      return address;
    }
    for (int i = 0; i < MAPPED_ONES; i++) {
      if (address[i] != 0) {
        return address;
      }
    }
    return Arrays.copyOfRange(address, MAPPED, LONGEST);
  }
}
