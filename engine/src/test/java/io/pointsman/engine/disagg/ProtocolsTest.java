package io.pointsman.engine.disagg;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.disagg.peer.PeerTable;
import io.pointsman.engine.disagg.protocol.ProtocolSettings;
import io.pointsman.engine.disagg.protocol.Protocols;
import org.junit.jupiter.api.Test;

class ProtocolsTest {
  @Test
  void decodeEnginesOfTheseProtocolsFetchOnlyMissingBlocks() {
    assertThat(Protocols.names())
        .filteredOn(
            name ->
                Protocols.create(name, new PeerTable(4), ProtocolSettings.DEFAULTS, () -> 0)
                    .sendsMissing())
        .containsExactly("mooncake", "nixl", "transparent");
  }
}
