package io.pointsman.pd.peer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PeerTableTest {
  private final TestFleet fleet = TestFleet.of(2);
  private final PeerTable table = new PeerTable(1);

  @Test
  void updatesAddUpUntilTheWorkerIsRemoved() {
    Worker worker = fleet.worker(0);
    assertThat(table.of(worker)).isEqualTo(Peer.UNKNOWN);
    table.update("w0", peer -> peer.withKvAddress("a:1"));
    table.update("w0", peer -> peer.withDpSize(2).withTpSize(4));
    assertThat(table.of(worker)).isEqualTo(new Peer("a:1", 0, List.of(), 2, 4, null, null));

    table.remove("w0");
    assertThat(table.of(worker)).isEqualTo(Peer.UNKNOWN);
  }

  @Test
  void aFullTableRejectsFurtherPeers() {
    assertThat(table.update("w0", peer -> peer.withBootstrapPort(1))).isTrue();
    assertThat(table.update("w1", peer -> peer.withBootstrapPort(1))).isFalse();
    assertThat(table.update("w0", peer -> peer.withBootstrapPort(2))).isTrue();
    assertThat(table.of(fleet.worker(1))).isEqualTo(Peer.UNKNOWN);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "a b", "a:1\r\nx: y", "\u00e9:1"})
  void addressesThatCouldBreakAHeaderAreRefused(String address) {
    assertThatThrownBy(() -> Peer.UNKNOWN.withKvAddress(address))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("kvAddress");
  }

  @Test
  void receiversNeedEqualNumbersOfPorts() {
    assertThatThrownBy(() -> new BlockReceiver("h", List.of(1), List.of(1, 2)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 init, 2 alloc");
  }

  @ParameterizedTest
  @CsvSource({
    "http://a.b:80,a.b,a.b,a.b:80",
    "https://a/x/y,a,a,a",
    "http://[fe80::1]:8,fe80::1,[fe80::1],[fe80::1]:8"
  })
  void urlsHaveParts(String url, String host, String urlHost, String authority) {
    Worker worker =
        fleet.add(
            new WorkerSpec("x", url, Role.REGULAR, Set.of(), WorkerSpec.NO_RANK, 0, Map.of()));

    assertThat(Address.host(worker)).isEqualTo(host);
    assertThat(Address.urlHost(worker)).isEqualTo(urlHost);
    assertThat(Address.authority(worker)).isEqualTo(authority);
  }
}
