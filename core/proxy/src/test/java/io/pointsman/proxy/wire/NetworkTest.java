package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkTest {
  private static InetAddress address(String text) throws Exception {
    return InetAddress.getByAddress(NetUtil.createByteArrayFromIpAddressString(text));
  }

  @ParameterizedTest
  @CsvSource({
    "10.0.0.0/8, 10.255.1.2, true",
    "10.0.0.0/8, 11.0.0.0, false",
    "192.168.4.0/22, 192.168.7.255, true",
    "192.168.4.0/22, 192.168.8.0, false",
    "127.0.0.1, 127.0.0.1, true",
    "127.0.0.1, 127.0.0.2, false",
    "0.0.0.0/0, 203.0.113.9, true",
    "0.0.0.0/0, ::1, false",
    "::1, ::1, true",
    "fd00::/8, fd12::1, true",
    "fd00::/8, fe80::1, false",
  })
  void containsTheAddressesWithItsLeadingBits(String network, String address, boolean inside)
      throws Exception {
    assertThat(Network.of(network).contains(address(address))).isEqualTo(inside);
  }

  @Test
  void aMappedAddressCountsAsIpv4() throws Exception {
    byte[] mapped = new byte[16];
    mapped[10] = -1;
    mapped[11] = -1;
    mapped[12] = 10;
    mapped[15] = 7;
    assertThat(Network.plain(mapped)).containsExactly(10, 0, 0, 7);
    assertThat(Network.plain(address("::1").getAddress())).hasSize(16);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "a",
        "host.example",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0/8",
        "::1/129",
        "1/"
      })
  void anythingElseIsRefused(String text) {
    assertThatThrownBy(() -> Network.of(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(text + " (expected: an IP address, or a network such as 10.0.0.0/8)");
  }
}
