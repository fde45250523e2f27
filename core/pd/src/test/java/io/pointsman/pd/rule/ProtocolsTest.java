package io.pointsman.pd.rule;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.peer.PeerTable;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
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
