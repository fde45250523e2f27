package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetSocketAddress;
import java.net.URI;
import org.junit.jupiter.api.Test;

class HaproxySettingsTest {
  private final HaproxySettings usual =
      HaproxySettings.of(
          InetSocketAddress.createUnresolved("127.0.0.1", 0),
          URI.create("http://127.0.0.1:1"),
          InetSocketAddress.createUnresolved("127.0.0.1", 4));

  @Test
  void aKeyGuardsAndIsNotPrinted() {
    HaproxySettings keyed = usual.withApiKey("hidden-1");

    assertThat(usual.guarded()).isFalse();
    assertThat(keyed.guarded()).isTrue();
    assertThat(keyed.withExecutable("x").withTtl(usual.ttl()).withTimeout(usual.timeout()).apiKey())
        .isEqualTo("hidden-1");
    assertThat(keyed.toString()).contains("127.0.0.1").doesNotContain("hidden-1");
    assertThatThrownBy(() -> usual.withApiKey("line\r\nbreak"))
        .hasMessage("apiKey: (expected: printable ASCII without spaces)");
  }

  @Test
  void causesAreLoggedOnceAndInLimitedNumber() {
    Causes causes = new Causes();

    assertThat(causes.isNew("status 500")).isTrue();
    assertThat(causes.isNew("status 500")).isFalse();
    for (int i = 1; i < Causes.MOST; i++) {
      assertThat(causes.isNew("status " + i)).isTrue();
    }
    assertThat(causes.isNew("one more")).isFalse();
  }
}
