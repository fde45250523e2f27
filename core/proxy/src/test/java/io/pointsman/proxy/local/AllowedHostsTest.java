package io.pointsman.proxy.local;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class AllowedHostsTest {
  private static boolean serves(AllowedHosts hosts, String authority) {
    return hosts.problem(authority, true, 30_000) == null;
  }

  /** Batches reach the router by that name. */
  @Test
  void theNameOfTheListenerIsOneOfTheNames() {
    AllowedHosts hosts = AllowedHosts.of(List.of("api.example"), "Router.corp.example", false);
    assertThat(serves(hosts, "router.corp.example:30000")).isTrue();
    assertThat(serves(hosts, "api.example")).isTrue();
    assertThat(serves(hosts, "evil.example")).isFalse();
    assertThat(serves(hosts, ":30000")).isFalse();
  }

  @Test
  void theNameOfTheListenerAloneRefusesNothing() {
    AllowedHosts hosts = AllowedHosts.of(List.of(), "router.corp.example", false);
    assertThat(hosts.any()).isTrue();
    assertThat(serves(hosts, "other.example")).isTrue();
  }

  @Test
  void anAddressOfTheListenerAddsNoName() {
    for (String address : List.of("::", "[::]", "0.0.0.0")) {
      AllowedHosts hosts = AllowedHosts.of(List.of("api.example"), address, false);
      assertThat(serves(hosts, ":30000")).isFalse();
      assertThat(serves(hosts, "evil.example")).isFalse();
    }
  }
}
