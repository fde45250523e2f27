package io.pointsman.pd.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PeerLabelsTest {
  @Test
  void labelsAddToThePeer() {
    Peer known = Peer.UNKNOWN.withDpSize(2).withTpSize(4);
    Peer peer =
        PeerLabels.addTo(
            known,
            Map.of(
                "bootstrap-port", "8998",
                "kv-address", "a:1",
                "receiver", "b/1,2/3,4",
                "zone", "x"));
    BlockReceiver receiver = new BlockReceiver("b", List.of(1, 2), List.of(3, 4));
    assertThat(peer)
        .isEqualTo(known.withBootstrapPort(8998).withKvAddress("a:1").withReceiver(receiver));
    assertThat(PeerLabels.format(receiver)).isEqualTo("b/1,2/3,4");
    assertThat(PeerLabels.addTo(known, Map.of("zone", "x"))).isEqualTo(known);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "bootstrap-port|0",
        "bootstrap-port|65536",
        "bootstrap-port|x",
        "kv-address|a b",
        "receiver|a",
        "receiver|a/1/2,3",
        "receiver|/1/2",
        "receiver|a/x/1"
      })
  void invalidLabelsAreRefused(String label, String value) {
    assertThatThrownBy(() -> PeerLabels.addTo(Peer.UNKNOWN, Map.of(label, value)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("expected");
  }
}
