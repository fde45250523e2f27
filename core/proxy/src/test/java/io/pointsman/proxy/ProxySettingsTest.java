package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.retry.PoisonSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The documented defaults, and invalid values. */
class ProxySettingsTest {
  @Test
  void defaultsAreThoseDocumented() {
    assertThat(LimitSettings.DEFAULTS)
        .isEqualTo(
            new LimitSettings(536_870_912, 65_536, 16_384, 8_388_608, 0)
                .withClients(
                    new ClientLimits(
                        0, 0.5, 512, Duration.ofSeconds(20), Duration.ofSeconds(2), 50)));
    assertThat(RetrySettings.DEFAULTS)
        .isEqualTo(
            new RetrySettings(
                5,
                Duration.ofMillis(50),
                Duration.ofSeconds(30),
                1.5,
                0.2,
                false,
                true,
                0.2,
                10,
                new PoisonSettings(1024, Duration.ofSeconds(60))));
    assertThat(UpstreamSettings.DEFAULTS.poolIdleTimeout()).isEqualTo(Duration.ofSeconds(2));
    assertThat(UpstreamSettings.DEFAULTS.connectTimeout()).isEqualTo(Duration.ofSeconds(10));
    assertThat(TimeoutSettings.DEFAULTS.firstByte()).isEqualTo(Duration.ofMinutes(10));
    assertThat(TimeoutSettings.DEFAULTS.idle()).isEqualTo(Duration.ofMinutes(5));
    assertThat(TimeoutSettings.DEFAULTS.total()).isEqualTo(Duration.ofMinutes(30));
    assertThat(TimeoutSettings.DEFAULTS.streamTotal()).isZero();
    assertThat(ProxySettings.DEFAULTS.sseKeepalive()).isZero();
  }

  @Test
  void invalidValuesAreRefusedWithNameValueAndExpectation() {
    assertThatThrownBy(() -> RetrySettings.DEFAULTS.withMaxAttempts(0))
        .hasMessage("maxAttempts: 0 (expected: >= 1)");
    assertThatThrownBy(() -> RetrySettings.DEFAULTS.withBudget(1.5, 1))
        .hasMessage("budgetShare: 1.5 (expected: 0 to 1)");
    assertThatThrownBy(() -> new AdmissionSettings(-1, 0, Duration.ofSeconds(1), 503))
        .hasMessage("maxConcurrentRequests: -1 (expected: >= 0)");
    assertThatThrownBy(() -> ListenSettings.DEFAULTS.at("h", 70_000))
        .hasMessage("port: 70000 (expected: 0 to 65535)");
    assertThatThrownBy(() -> UpstreamSettings.DEFAULTS.withKeys(EngineKeys.of("a\r\nb")))
        .hasMessageStartingWith("apiKey: (expected:");
    assertThatThrownBy(() -> LimitSettings.DEFAULTS.withMaxBufferedBody(-1))
        .hasMessage("maxBufferedBody: -1 (expected: 0 to 1 GiB)");
  }
}
