package io.pointsman.tool.sim.kv;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.testkit.FakeClock;
import io.pointsman.tool.sim.http.SimJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Leases with a clock that the test controls. */
class KvLedgerTest {
  private static final Duration LEASE = Duration.ofSeconds(30);

  private final FakeClock clock = new FakeClock();
  private final KvLedger ledger = new KvLedger();
  private final List<String> freed = new ArrayList<>();

  @Test
  void leaseEndsAfterItsTimeAndNotBefore() {
    hold("a");
    pass(Duration.ofSeconds(29));
    assertThat(freed).isEmpty();
    assertThat(ledger.state().blocks()).isEqualTo(4);

    pass(Duration.ofSeconds(1));
    assertThat(freed).containsExactly("a");
    assertThat(ledger.state()).isEqualTo(new KvState.ReservedCounts(0, 0, 0, 1, 4, 0));
    assertThatThrownBy(() -> ledger.claim(Claim.to("a"))).hasMessageContaining("lease expired");
  }

  @Test
  void renewalExtendsByTwoThirdsFromThen() {
    hold("a");
    pass(Duration.ofSeconds(25));
    ledger.renew(Claim.to("a"), clock.nanos());
    assertThat(ledger.nextExpiry()).isEqualTo(clock.nanos() + Duration.ofSeconds(20).toNanos());
    pass(Duration.ofSeconds(19));
    assertThat(freed).isEmpty();
    pass(Duration.ofSeconds(1));
    assertThat(freed).containsExactly("a");
    assertThat(ledger.state().renewals()).isEqualTo(1);
  }

  @Test
  void renewalNeverShortensALease() {
    hold("a");
    ledger.renew(Claim.to("a"), clock.nanos());
    assertThat(ledger.nextExpiry()).isEqualTo(clock.nanos() + LEASE.toNanos());
  }

  @Test
  void releaseFreesOnceAndIsNoLeak() {
    hold("a");
    ledger.release(Claim.to("a"));
    ledger.release(Claim.to("a"));
    pass(LEASE);

    assertThat(freed).containsExactly("a");
    assertThat(ledger.state()).isEqualTo(new KvState.ReservedCounts(0, 0, 1, 0, 0, 0));
    assertThatThrownBy(() -> ledger.claim(Claim.to("a"))).hasMessageContaining("released already");
    assertThat(ledger.nextExpiry()).isEqualTo(KvLedger.NEVER);
  }

  @Test
  void unknownKeyIsDistinguishedFromAStaleOne() {
    assertThat(ledger.mayCome("a")).isTrue();
    assertThatThrownBy(() -> ledger.claim(Claim.to("a"))).hasMessageContaining("never produced");
    hold("a");
    ledger.clear();
    assertThat(ledger.state().requests()).isZero();
    assertThat(freed).containsExactly("a");
  }

  @Test
  void readersAreWokenWhenTheirKvArrives() {
    List<String> woken = new ArrayList<>();
    ledger.await("a", () -> woken.add("first"));
    Runnable leave = ledger.await("a", () -> woken.add("second"));
    ledger.await("b", () -> woken.add("third"));
    leave.run();
    assertThat(ledger.waiting()).isEqualTo(2);
    hold("a");

    assertThat(woken).containsExactly("first");
    assertThat(ledger.waiting()).isEqualTo(1);
  }

  @Test
  void producerIsWokenWhenItsReaderArrives() {
    List<String> woken = new ArrayList<>();
    Runnable forget = ledger.awaitReader("b", () -> woken.add("b"));
    ledger.awaitReader("a", () -> woken.add("a"));
    assertThatThrownBy(() -> ledger.awaitReader("a", () -> {})).hasMessageContaining("no other");
    forget.run();
    ledger.await("b", () -> {});
    ledger.await("a", () -> {});

    assertThat(woken).containsExactly("a");
  }

  @Test
  void claimIsComparedWithTheReservedBlocks() {
    hold("a");
    Claim claim = Claim.to("a");
    ledger.claim(claim.from("engine").tokens(50, "hash").ranks(2, -1, 1));
    wrong("remote_engine_id", claim.from("other"));
    wrong("remote_num_tokens", claim.tokens(49, "hash"));
    wrong("prompt", claim.tokens(50, "other"));
    wrong("tp_size", claim.ranks(1, -1, -1));
    wrong("remote_dp_rank", claim.ranks(2, -1, 0));
    wrong("remote_block_ids", claim.blocks(SimJson.array()));
  }

  private void wrong(String field, Claim claim) {
    assertThatThrownBy(() -> ledger.claim(claim)).hasMessageStartingWith(field + ": ");
  }

  private void pass(Duration time) {
    clock.advance(time);
    ledger.expire(clock.nanos());
  }

  private void hold(String key) {
    ReservedBlocks reserved =
        new ReservedBlocks(
            List.of(key),
            "engine",
            1,
            2,
            SimJson.array().add(SimJson.array().add(1).add(2).add(3).add(4)),
            4,
            50,
            "hash",
            LEASE.toNanos(),
            () -> freed.add(key));
    ledger.hold(reserved, clock.nanos());
  }
}
