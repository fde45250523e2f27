package io.pointsman.proxy.exchange;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.local.LocalAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConnectionOriginTest {
  @ParameterizedTest
  @CsvSource({
    "127.0.0.1, true",
    "127.8.0.2, true",
    "::1, true",
    "::ffff:127.0.0.1, true",
    "192.0.2.2, false",
    "10.0.0.1, false",
    "fe80::1, false",
    "::ffff:10.0.0.1, false"
  })
  void onlyThisMachineReachesTheLoopback(String address, boolean loopback) {
    assertThat(ConnectionOrigin.isLoopback(new InetSocketAddress(address, 1))).isEqualTo(loopback);
  }

  @Test
  void anAddressWithinTheProcessIsNear() {
    assertThat(ConnectionOrigin.isLoopback(new LocalAddress("a"))).isTrue();
  }

  @Test
  void aConnectionWithoutAnAddressIsFar() {
    assertThat(ConnectionOrigin.isLoopback(null)).isFalse();
  }
}
