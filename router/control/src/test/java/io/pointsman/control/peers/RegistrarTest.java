package io.pointsman.control.peers;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.peer.Peer.TransferMode;
import io.pointsman.pd.peer.PeerTable;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RegistrarTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = fleet(4);
  private final PeerTable peers = new PeerTable(8);
  private final Registrar registrar = new Registrar(fleet, peers, 8, clock::nanos);

  private Fleet fleet(int most) {
    FleetSettings standard = FleetSettings.DEFAULTS;
    return new Fleet(
        new FleetSettings(most, standard.health(), standard.breaker(), standard.stall()),
        clock::nanos);
  }

  private static Announcement says(Role role, String http) {
    return new Announcement(role, http, "10.0.0.1:21001", 1, 1, null);
  }

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).toList();
  }

  private Worker worker(String id) {
    return requireNonNull(fleet.snapshot().worker(id), id);
  }

  /** Advances the clock and calls the registrar every 0.1 s, as the listener does. */
  private void pass(Duration time) {
    for (long left = time.toMillis(); left > 0; left -= 100) {
      clock.advance(Duration.ofMillis(Math.min(100, left)));
      registrar.look();
    }
  }

  @Test
  void aRegisteredEngineIsAWorkerWithItsRoleAndAddress() {
    registrar.received(says(Role.PREFILL, "a:1"));
    registrar.received(says(Role.DECODE, "b:1"));
    assertThat(ids()).containsExactly("a:1", "b:1");
    assertThat(worker("a:1").spec().role()).isEqualTo(Role.PREFILL);
    assertThat(worker("b:1").spec().role()).isEqualTo(Role.DECODE);
    assertThat(worker("a:1").spec().url()).isEqualTo("http://a:1");
    assertThat(peers.of(worker("a:1"))).isEqualTo(Peer.UNKNOWN.withKvAddress("10.0.0.1:21001"));
  }

  @Test
  void itLeavesAfterFiveSecondsWithoutRegistration() {
    registrar.received(says(Role.PREFILL, "a:1"));
    pass(Duration.ofSeconds(5));
    assertThat(ids()).containsExactly("a:1");
    Worker worker = worker("a:1");
    pass(Duration.ofMillis(100));
    assertThat(ids()).isEmpty();
    assertThat(peers.of(worker)).isEqualTo(Peer.UNKNOWN);
    assertThat(registrar.size()).isZero();
  }

  @Test
  void itStaysTheSameWorkerWhileItRegisters() {
    registrar.received(says(Role.PREFILL, "a:1"));
    Worker worker = worker("a:1");
    long version = fleet.snapshot().version();
    for (int i = 0; i < 10; i++) {
      pass(Duration.ofSeconds(4));
      registrar.received(says(Role.PREFILL, "a:1"));
    }
    assertThat(worker("a:1")).isSameAs(worker);
    assertThat(fleet.snapshot().version()).isEqualTo(version);
  }

  @Test
  void timeWithoutAListenerExpiresNothing() {
    registrar.received(says(Role.PREFILL, "a:1"));
    clock.advance(Duration.ofMinutes(1));
    registrar.look();
    assertThat(ids()).containsExactly("a:1");
    pass(Duration.ofMillis(5100));
    assertThat(ids()).isEmpty();
  }

  @Test
  void aNewRoleMeansANewWorkerAndANewKvAddressDoesNot() {
    registrar.received(says(Role.PREFILL, "a:1"));
    Worker first = worker("a:1");
    registrar.received(
        new Announcement(Role.PREFILL, "a:1", "10.0.0.9:5", 1, 2, TransferMode.READ));
    assertThat(worker("a:1")).isSameAs(first);
    assertThat(peers.of(first))
        .isEqualTo(
            Peer.UNKNOWN
                .withKvAddress("10.0.0.9:5")
                .withDpSize(1)
                .withTpSize(2)
                .withMode(TransferMode.READ));
    registrar.received(says(Role.DECODE, "a:1"));
    assertThat(worker("a:1")).isNotSameAs(first);
    assertThat(worker("a:1").spec().role()).isEqualTo(Role.DECODE);
    assertThat(registrar.size()).isEqualTo(1);
  }

  @Test
  void eachRankOfAnEngineIsAWorker() {
    registrar.received(new Announcement(Role.DECODE, "a:1", "10.0.0.1:5", 3, 1, null));
    assertThat(ids()).containsExactly("a:1@0", "a:1@1", "a:1@2");
    assertThat(peers.of(worker("a:1@2")).dpSize()).isEqualTo(3);
  }

  @Test
  void aWorkerAddedByOthersOnlyGetsItsAddress() {
    Worker configured = fleet.add(WorkerSpec.of("http://a:1").withModels(Set.of("m")));
    registrar.received(says(Role.PREFILL, "a:1"));
    assertThat(ids()).containsExactly("a:1");
    assertThat(peers.of(configured).kvAddress()).isEqualTo("10.0.0.1:21001");
    pass(Duration.ofSeconds(6));
    assertThat(ids()).containsExactly("a:1");
  }

  /**
   * Happens between two registrations, so the registrar never sees the fleet without the worker.
   */
  @Test
  void aWorkerReaddedByOthersGetsItsAddressBack() {
    fleet.add(WorkerSpec.of("http://a:1"));
    registrar.received(says(Role.PREFILL, "a:1"));
    fleet.remove("a:1");
    peers.remove("a:1");
    Worker again = fleet.add(WorkerSpec.of("http://a:1"));
    registrar.received(says(Role.PREFILL, "a:1"));
    assertThat(peers.of(again).kvAddress()).isEqualTo("10.0.0.1:21001");
    assertThat(worker("a:1")).isSameAs(again);
  }

  @Test
  void anEngineIsAddedWhenOthersRemoveItsWorker() {
    fleet.add(WorkerSpec.of("http://a:1"));
    registrar.received(says(Role.PREFILL, "a:1"));
    fleet.remove("a:1");
    registrar.received(says(Role.PREFILL, "a:1"));
    assertThat(worker("a:1").spec().role()).isEqualTo(Role.PREFILL);
  }

  @Test
  void aManuallyRemovedWorkerStaysOutUntilItsRegistrationExpires() {
    registrar.received(says(Role.PREFILL, "a:1"));
    fleet.remove("a:1");
    registrar.received(says(Role.PREFILL, "a:1"));
    assertThat(ids()).isEmpty();
    pass(Duration.ofSeconds(6));
    registrar.received(says(Role.PREFILL, "a:1"));
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void aFullFleetAddsNoEngineUntilThereIsRoom() {
    for (int i = 0; i < 6; i++) {
      registrar.received(says(Role.PREFILL, "a:" + (i + 1)));
    }
    assertThat(ids()).containsExactly("a:1", "a:2", "a:3", "a:4");
    assertThat(registrar.size()).isEqualTo(4);
    fleet.remove("a:2");
    registrar.received(says(Role.PREFILL, "a:6"));
    assertThat(ids()).containsExactly("a:1", "a:3", "a:4", "a:6");
  }

  @Test
  void anEngineWithTooManyRanksIsNotAddedInPart() {
    registrar.received(says(Role.DECODE, "a:1"));
    registrar.received(new Announcement(Role.PREFILL, "b:1", "10.0.0.1:5", 16, 1, null));
    assertThat(ids()).containsExactly("a:1");
    assertThat(registrar.size()).isEqualTo(1);
  }

  @Test
  void registrationsAreLimited() {
    Registrar small = new Registrar(fleet, peers, 2, clock::nanos);
    for (int i = 1; i < 5; i++) {
      small.received(says(Role.PREFILL, "a:" + i));
    }
    assertThat(small.size()).isEqualTo(2);
    assertThat(ids()).containsExactly("a:1", "a:2");
  }

  @Test
  void afterANewAddressAnEngineExpiresOnlyIfItHasRegisteredThere() {
    registrar.received(says(Role.PREFILL, "a:1"));
    registrar.received(says(Role.DECODE, "b:1"));
    registrar.awaitAll();
    pass(Registrar.LIFETIME.multipliedBy(3));
    assertThat(ids()).containsExactly("a:1", "b:1");

    registrar.received(says(Role.PREFILL, "a:1"));
    pass(Registrar.LIFETIME.plusMillis(200));
    assertThat(ids()).containsExactly("b:1");
  }
}
