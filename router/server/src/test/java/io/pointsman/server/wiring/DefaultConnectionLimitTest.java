package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import org.junit.jupiter.api.Test;

class DefaultConnectionLimitTest {
  private static final int LOOPS = 3;

  /** Descriptors of the process itself; 100 are open. */
  private static final int OWN = 100 + 64 + 4 * LOOPS;

  private static final ProxySettings SETTINGS =
      ProxySettings.DEFAULTS.withListen(ListenSettings.DEFAULTS.withEventLoops(LOOPS));

  @Test
  void clientsLeaveAQuarterOfTheFreeDescriptors() {
    assertThat(limit(20_000 + OWN, 100)).isEqualTo(15_000);
    assertThat(limit(50, 100)).as("of very few").isEqualTo(1);
    assertThat(limit(Long.MAX_VALUE, 100)).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void withoutADescriptorLimitConnectionsAreUnlimited() {
    assertThat(limit(0, 100)).isZero();
    assertThat(limit(-1, 100)).isZero();
  }

  @Test
  void aConfiguredLimitIsKept() {
    ProxySettings said =
        ProxySettings.DEFAULTS.withListen(ListenSettings.DEFAULTS.withMaxConnections(7));
    assertThat(DefaultConnectionLimit.in(said, 20_000, 100)).isEqualTo(said);
  }

  private static int limit(long most, long open) {
    return DefaultConnectionLimit.in(SETTINGS, most, open).listen().maxConnections();
  }
}
