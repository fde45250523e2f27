package io.pointsman.control.peers;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.control.peers.MessageReader.Unusable;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer.TransferMode;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MessageReaderTest {
  private static Packed prefill() {
    return Packed.registration("P", "10.0.0.1:8000", "10.0.0.1:21001");
  }

  private static Packed moriio() {
    return prefill()
        .with("zmq_address", "host:10.0.0.1,handshake:7301,notify:7501")
        .with("dp_size", 2)
        .with("tp_size", 4)
        .with("transfer_mode", "WRITE");
  }

  @Test
  void aP2pEngineReportsItsRoleAndItsTwoAddresses() throws Unusable {
    assertThat(MessageReader.registration(prefill().bytes()))
        .isEqualTo(new Announcement(Role.PREFILL, "10.0.0.1:8000", "10.0.0.1:21001", 1, 1, null));
    assertThat(MessageReader.registration(prefill().with("type", "D").bytes()))
        .extracting("role")
        .isEqualTo(Role.DECODE);
  }

  @Test
  void aMoriioEngineAlsoReportsItsSizesAndItsMode() throws Unusable {
    Announcement said = requireNonNull(MessageReader.registration(moriio().bytes()));
    assertThat(said)
        .isEqualTo(
            new Announcement(
                Role.PREFILL,
                "10.0.0.1:8000",
                "host:10.0.0.1,handshake:7301,notify:7501",
                2,
                4,
                TransferMode.WRITE));
    assertThat(said.workers())
        .extracting(WorkerSpec::id)
        .containsExactly("10.0.0.1:8000@0", "10.0.0.1:8000@1");
  }

  @Test
  void anAddressWithARankIsThatRank() throws Unusable {
    Announcement said =
        requireNonNull(
            MessageReader.registration(moriio().with("http_address", "h-1.x:1@1").bytes()));
    assertThat(said.workers()).hasSize(1);
    assertThat(said.workers().getFirst())
        .returns("h-1.x:1@1", WorkerSpec::id)
        .returns("http://h-1.x:1", WorkerSpec::url)
        .returns(1, WorkerSpec::rank);
  }

  @Test
  void textsMayBeBytesAndUnknownMembersAreSkipped() throws Unusable {
    Packed packed = moriio().with("index", List.of()).with("extra", "x").with("none", 1.5);
    assertThat(MessageReader.registration(packed.inBinary().bytes()))
        .isEqualTo(MessageReader.registration(moriio().bytes()));
  }

  @Test
  void aHelloDescribesNoWorker() throws Unusable {
    assertThat(MessageReader.registration(prefill().with("type", "HELLO").bytes())).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "type, X, type",
    "http_address, 10.0.0.1, http_address",
    "http_address, http://10.0.0.1:80, http_address",
    "http_address, 10.0.0.1:0, http_address",
    "http_address, 10.0.0.1:70000, http_address",
    "http_address, 10.0.0.1:80/x, http_address",
    "http_address, 10.0.0.1:80@2, http_address",
    "http_address, a b:80, http_address",
    "zmq_address, '', kvAddress",
    "zmq_address, 'a b', kvAddress",
    "transfer_mode, BOTH, transfer_mode",
    "dp_size, many, dp_size",
  })
  void invalidMembersAreRefusedWithTheReason(String member, String value, String reason) {
    assertThatThrownBy(() -> MessageReader.registration(moriio().with(member, value).bytes()))
        .isInstanceOf(Unusable.class)
        .hasMessageContaining(reason);
  }

  @ParameterizedTest
  @CsvSource({"dp_size, 0", "dp_size, 1025", "dp_size, -1", "tp_size, 0", "tp_size, 2000000"})
  void sizesOutOfRangeAreRefused(String member, int value) {
    assertThatThrownBy(() -> MessageReader.registration(moriio().with(member, value).bytes()))
        .isInstanceOf(Unusable.class)
        .hasMessageContaining(member);
  }

  @ParameterizedTest
  @CsvSource({"type", "http_address", "zmq_address"})
  void missingMembersAreRefused(String member) {
    assertThatThrownBy(() -> MessageReader.registration(prefill().without(member).bytes()))
        .isInstanceOf(Unusable.class)
        .hasMessageContaining(member);
  }

  @Test
  void aNotificationCarriesTheIdOfItsRequest() throws Unusable {
    assertThat(MessageReader.notification(Packed.notification("42").bytes())).isEqualTo("42");
    assertThatThrownBy(() -> MessageReader.notification(prefill().bytes()))
        .isInstanceOf(Unusable.class);
  }

  /** Claims a length of two billion in a message of a few bytes. */
  @Test
  void falseLengthsCostNoMemory() {
    for (int first : new int[] {0xdb, 0xc6, 0xdf, 0xdd, 0xc9}) {
      byte[] claim = ByteBuffer.allocate(5).put((byte) first).putInt(0x7fff_fff0).array();
      byte[] within = ByteBuffer.allocate(6).put((byte) 0x81).put(claim).array();
      for (byte[] message : List.of(claim, within)) {
        assertThatThrownBy(() -> MessageReader.registration(message)).isInstanceOf(Unusable.class);
      }
    }
  }

  @Test
  void brokenMessagesAreUnusableAndNothingElse() {
    Random random = new Random(7);
    byte[] good = moriio().bytes();
    int usable = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] broken = Arrays.copyOf(good, 1 + random.nextInt(good.length));
      for (int change = random.nextInt(4); change > 0; change--) {
        broken[random.nextInt(broken.length)] = (byte) random.nextInt(256);
      }
      try {
        MessageReader.registration(broken);
        usable++;
      } catch (Unusable e) {
        assertThat(e).hasMessageContaining("expected");
      }
    }
    assertThat(usable).isBetween(1, 10_000);
  }
}
