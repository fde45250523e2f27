package io.pointsman.app.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class LiveLeasesTest {
  @Test
  void leasesAreReadFromHaproxysTable() {
    String table =
        """
        # table: leases, type: string, size:100, used:3
        0x556a4d6a0d38: key=1z-kd8w0qm3x1 use=1 exp=8917 conn_cur=1
        0x556a4d6a0e38: key=20-kd use=2 exp=0 shard=0 conn_cur=2
        0x556a4d6a0f38: key=none use=2 exp=0 conn_cur=2
        """;

    assertThat(LiveLeases.alive(table)).containsExactly("1z-kd8w0qm3x1", "20-kd");
    assertThat(LiveLeases.alive("# table: leases, type: string, size:100, used:0\n")).isEmpty();
  }

  @Test
  void aTimeTooShortToBeRenewedInIsRefused() {
    HaproxySettings usual =
        HaproxySettings.of(
            InetSocketAddress.createUnresolved("127.0.0.1", 0), URI.create("http://127.0.0.1:1"));

    assertThat(usual.withTtl(Duration.ofSeconds(1)).ttl()).hasSeconds(1);
    assertThatThrownBy(() -> usual.withTtl(Duration.ofMillis(999)))
        .hasMessage("ttl: PT0.999S (expected: >= PT1S)");
  }
}
