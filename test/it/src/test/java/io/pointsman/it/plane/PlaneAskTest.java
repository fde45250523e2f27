package io.pointsman.it.plane;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.plane.haproxy.HaproxyPlane;
import io.pointsman.server.embed.Pointsman;
import io.pointsman.server.wiring.Router;
import io.pointsman.tool.sim.FreePorts;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** HAProxy's default protocol for queries. */
@Timeout(120)
@Tag("full")
final class PlaneAskTest {
  private static Router router(String spoe) {
    return Pointsman.builder()
        .set("listen.port", "0")
        .set("admin.port", "0")
        .set("insecure-admin", "true")
        .set("metrics.enabled", "false")
        .set("drain-timeout", "0s")
        .set("decide.spoe-address", spoe)
        .startRouter();
  }

  @Test
  void aRouterReportsItsSpoeAddress() throws IOException {
    try (Router router = router("127.0.0.1:0")) {
      InetSocketAddress found =
          requireNonNull(HaproxyPlane.spoeOf(URI.create(router.adminUrl()), ""));
      assertThat(found.getHostString()).isEqualTo("127.0.0.1");
      assertThat(found.getPort()).isPositive();
    }
    try (Router router = router("0.0.0.0:0")) {
      InetSocketAddress found =
          requireNonNull(HaproxyPlane.spoeOf(URI.create(router.adminUrl()), ""));
      assertThat(found.getHostString()).isEqualTo("127.0.0.1");
    }
  }

  @Test
  void aRouterWithoutSpoeIsRefused() {
    try (Router router = router("")) {
      URI url = URI.create(router.adminUrl());
      assertThatThrownBy(() -> HaproxyPlane.spoeOf(url, ""))
          .isInstanceOf(IOException.class)
          .hasMessageContaining("has no SPOE address (expected: decide.spoe-address)");
    }
  }

  @Test
  void anUnreachableRouterIsRefused() {
    URI nobody = URI.create("http://127.0.0.1:" + FreePorts.next());
    assertThatThrownBy(() -> HaproxyPlane.spoeOf(nobody, "")).isInstanceOf(IOException.class);
  }
}
