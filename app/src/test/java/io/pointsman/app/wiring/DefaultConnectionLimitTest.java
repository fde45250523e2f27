package io.pointsman.app.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxySettings;
import org.junit.jupiter.api.Test;

class ClientRoomTest {
  @Test
  void clientsLeaveAQuarterOfTheDescriptors() {
    assertThat(ClientRoom.clients(20_128)).isEqualTo(15_000);
    assertThat(ClientRoom.clients(100)).as("of very few").isEqualTo(1);
    assertThat(ClientRoom.clients(Long.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void withoutABoundOfDescriptorsAsManyAsComeAreLetIn() {
    assertThat(ClientRoom.clients(0)).isZero();
    assertThat(ClientRoom.clients(-1)).isZero();
  }

  @Test
  void whatIsSaidIsKept() {
    ProxySettings said =
        ProxySettings.DEFAULTS.withListen(ListenSettings.DEFAULTS.withMaxConnections(7));
    assertThat(ClientRoom.within(said)).isEqualTo(said);
    assertThat(ClientRoom.within(ProxySettings.DEFAULTS).listen().maxConnections())
        .as("of the machine's descriptors")
        .isPositive();
  }
}
