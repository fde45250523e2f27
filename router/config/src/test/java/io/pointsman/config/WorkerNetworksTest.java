package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.settings.WorkerNetworks;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerNetworksTest {
  private static final WorkerNetworks STANDARD = new WorkerNetworks(WorkerNetworks.STANDARD);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1",
        "127.255.0.9",
        "localhost",
        "LOCALHOST",
        "::1",
        "0:0:0:0:0:0:0:1",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.7.7",
        "fd00::1",
        "::ffff:10.0.0.1"
      })
  void localAndPrivateAddressesAreAdmitted(String host) {
    assertThat(STANDARD.contains(host)).isTrue();
  }

  /** 169.254.169.254 is the address of clouds' metadata, with credentials. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "8.8.8.8",
        "172.32.0.1",
        "172.15.0.1",
        "192.169.0.1",
        "11.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::",
        "2001:db8::1",
        "fe80::1",
        "::ffff:8.8.8.8",
        "attacker.example",
        "localhost.attacker.example",
        "127.0.0.1.attacker.example",
        "10",
        "2130706433",
        "0x7f.0.0.1",
        "127.1",
        "010.0.0.1x",
        "router"
      })
  void otherAddressesAndNamesAreNot(String host) {
    assertThat(STANDARD.contains(host)).isFalse();
  }

  @Test
  void listedNamesAndNetworksAreAdmitted() {
    WorkerNetworks networks =
        new WorkerNetworks(
            List.of("engine-1", "*.Engines.example", "203.0.113.0/25", "2001:db8::/32", "8.8.8.8"));

    assertThat(networks.contains("Engine-1")).isTrue();
    assertThat(networks.contains("a.engines.example")).isTrue();
    assertThat(networks.contains("engines.example")).isFalse();
    assertThat(networks.contains("evilengines.example")).isFalse();
    assertThat(networks.contains("203.0.113.127")).isTrue();
    assertThat(networks.contains("203.0.113.128")).isFalse();
    assertThat(networks.contains("2001:db8:1::1")).isTrue();
    assertThat(networks.contains("8.8.8.8")).isTrue();
    assertThat(networks.contains("127.0.0.1")).isFalse();
    assertThat(new WorkerNetworks(List.of("0.0.0.0/0")).contains("1.2.3.4")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/",
        "::/129",
        "300.0.0.1",
        "10.0.0",
        "a/8",
        "http://a",
        "a b",
        "*",
        "*.",
        "a:1",
        "-a"
      })
  void otherTextsAreRefused(String written) {
    assertThatThrownBy(() -> new WorkerNetworks(List.of(written)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("worker-networks: " + written);
  }
}
