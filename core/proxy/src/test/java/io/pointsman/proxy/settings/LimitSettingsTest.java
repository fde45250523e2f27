package io.pointsman.proxy.settings;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.internal.PlatformDependent;
import org.junit.jupiter.api.Test;

class LimitSettingsTest {
  private static final int MOST_BODY = Integer.MAX_VALUE / 2;

  @Test
  void bodiesMayTakeHalfOfTheDirectMemory() {
    assertThat(LimitSettings.bufferedTotal(160 << 20)).isEqualTo(80 << 20);
    assertThat(LimitSettings.bufferedTotal(64L << 30)).isEqualTo(768 << 20);
  }

  /** A reload that takes the key out of the file must not refuse every body. */
  @Test
  void zeroBecomesThisShare() {
    long share = LimitSettings.bufferedTotal(PlatformDependent.estimateMaxDirectMemory());
    LimitSettings byDefault = new LimitSettings(1 << 20, 8192, 1024, MOST_BODY, 0);
    assertThat(byDefault.maxBufferedTotal()).isEqualTo(share).isPositive();
    assertThat(byDefault.maxBufferedBody())
        .as("not above the total")
        .isEqualTo((int) Math.min(MOST_BODY, share));
    assertThat(byDefault.withMaxBufferedTotal(5 << 20).maxBufferedTotal()).isEqualTo(5 << 20);
    assertThat(LimitSettings.DEFAULTS.maxBufferedTotal()).isEqualTo(share);
    assertThat(LimitSettings.DEFAULTS.maxBufferedBody()).isEqualTo(8 << 20);
  }
}
