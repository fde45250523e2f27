package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostPortTest {
  @ParameterizedTest
  @CsvSource({
    "http://a:1, a, 1",
    "http://vllm_1.internal:8000/x, vllm_1.internal, 8000",
    "https://_a_, _a_, -1",
    "http://10.0.0.1:65535?q, 10.0.0.1, 65535",
    "http://a:/, a, -1",
    "http://[::1]:8000, [::1], 8000",
    "http://[fe80::1%eth0], [fe80::1%eth0], -1"
  })
  void hostAndPortAreThoseOfTheUrl(String url, String host, int port) {
    assertThat(HostPort.ofUrl(url)).isEqualTo(new HostPort(host, port));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a:1", "http://", "http://u@a:1", "http://a:0", "http://a:65536", "http://a b"})
  void textsWithoutAHostAreRefused(String url) {
    assertThatThrownBy(() -> HostPort.ofUrl(url))
        .hasMessageStartingWith("url: " + url.replace("u@", "***@"));
  }

  @Test
  void bareHostHasNoBracketsAndTheDefaultPortApplies() {
    assertThat(HostPort.ofUrl("http://[::1]").bareHost()).isEqualTo("::1");
    assertThat(HostPort.ofUrl("http://[::1]").portOr(80)).isEqualTo(80);
    assertThat(HostPort.ofUrl("http://a:7").portOr(80)).isEqualTo(7);
  }
}
