package io.pointsman.engine.policy.hash;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.Requests;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RayConsistentHashPolicyTest {
  private static final int SEED = 0xF9B4CA77;

  private static RingSettings settings(int nodes, int fallback) {
    return new RingSettings(nodes, fallback);
  }

  /** Replicas {@code r0}, {@code r1}, ... */
  private static TestFleet replicas(int count) {
    TestFleet fleet = new TestFleet();
    for (int i = 0; i < count; i++) {
      fleet.add(TestFleet.spec("r" + i, TestFleet.MODEL));
    }
    return fleet;
  }

  private static Picker picker(TestFleet fleet, RingSettings settings) {
    return new RayConsistentHashPolicy(settings, fleet.random).picker(fleet.pool());
  }

  private static Worker pick(TestFleet fleet, Picker picker, String session) {
    return requireNonNull(picker.pick(Requests.session(session), fleet.now()));
  }

  @ParameterizedTest
  @CsvSource({
    "hello, 790db43c869050c8",
    "user_123, b7673f0c0d8bb10a",
    "r0:0, 51fa3fbf907c88cc",
    "r0:99, 9b8d29d889402189",
    "sess_0000, 5cb6745899391ecc",
    "a-much-longer-session-id-0123456789, e992b77abedcfe78"
  })
  void hashesMatchRay(String text, String hash) {
    assertThat(Long.toHexString(Murmur3.hash(text, SEED))).isEqualTo(hash);
  }

  @Test
  void theHashIsTheFirstWordOfMurmurHash3() {
    assertThat(Long.toHexString(Murmur3.hash("hello", 0))).isEqualTo("cbd8a7b341bd9b02");
    assertThat(Murmur3.hash("", 0)).isZero();
  }

  @Test
  void textsBeyondAsciiAreHashedAsUtf8() {
    Set<Long> hashes = new HashSet<>();
    for (String text : List.of("é", "e", "Ã©", "é\0", "日本語のセッション", "😀")) {
      hashes.add(Murmur3.hash(text, SEED));
    }
    assertThat(hashes).hasSize(6);
  }

  /** The ring as specified, with arbitrary-precision arithmetic. */
  private static List<String> ranks(int replicas, int nodes, String session, int most) {
    TreeMap<BigInteger, String> ring = new TreeMap<>();
    for (int r = 0; r < replicas; r++) {
      for (int i = 0; i < nodes; i++) {
        ring.put(unsigned("r" + r + ":" + i), "r" + r);
      }
    }
    Set<String> distinct = new LinkedHashSet<>(ring.tailMap(unsigned(session), false).values());
    distinct.addAll(ring.values());
    return distinct.stream().limit(most).toList();
  }

  private static BigInteger unsigned(String text) {
    return new BigInteger(Long.toUnsignedString(Murmur3.hash(text, SEED)));
  }

  @ParameterizedTest
  @CsvSource({"1, 100", "2, 100", "5, 100", "5, 1", "8, 3"})
  void ownersAndSuccessorsMatchTheRing(int replicas, int nodes) {
    TestFleet fleet = replicas(replicas);
    Picker picker = picker(fleet, settings(nodes, 2));
    for (int s = 0; s < 500; s++) {
      RoutingRequest request = Requests.session("sess_" + s);
      List<String> found = new ArrayList<>();
      for (int rank = 0; rank < Math.min(3, replicas); rank++) {
        Worker worker = requireNonNull(picker.pick(request, fleet.now()));
        assertThat(request.result().reason())
            .isEqualTo(rank == 0 ? PickReason.HASH : PickReason.HASH_SPILL);
        found.add(worker.id());
        request.exclude(worker);
      }
      assertThat(found).isEqualTo(ranks(replicas, nodes, "sess_" + s, 3));
    }
  }

  @Test
  void aKeyOnAPointBelongsToTheNextOneAndAfterTheLastToTheFirst() {
    PointRing.Builder builder = new PointRing.Builder();
    builder.add(10, 0, 0);
    builder.add(20, 5, 1);
    builder.add(-1, 0, 2);
    PointRing ring = builder.build();

    assertThat(ring.owner(ring.behind(9, -1), 0)).isZero();
    assertThat(ring.owner(ring.behind(10, 0), 0)).isEqualTo(1);
    assertThat(ring.owner(ring.behind(20, 4), 0)).isEqualTo(1);
    assertThat(ring.owner(ring.behind(20, 5), 0)).isEqualTo(2);
    assertThat(ring.owner(ring.behind(0, 0), 0)).isZero();
    assertThat(ring.owner(ring.behind(Long.MIN_VALUE, 0), 0)).isEqualTo(2);
    assertThat(ring.owner(ring.behind(-1, 0), 0)).isZero();
    assertThat(ring.owner(ring.behind(-1, -1), 0)).isZero();
    assertThat(ring.owner(ring.behind(-1, -1), 2)).isEqualTo(2);
    assertThat(ring.owner(ring.behind(20, 5), 1)).isZero();
  }

  @Test
  void sharesAreBetweenHalfAndTwiceTheFairShare() {
    TestFleet fleet = replicas(5);
    Picker picker = picker(fleet, RingSettings.DEFAULTS);
    Map<String, Integer> shares = new HashMap<>();
    for (int s = 0; s < 2000; s++) {
      shares.merge(pick(fleet, picker, "user_" + s).id(), 1, Integer::sum);
    }
    assertThat(shares).hasSize(5);
    assertThat(shares.values()).allMatch(share -> share >= 200 && share <= 800);
  }

  @Test
  void aFifthReplicaTakesItsShareAndMovesNoOtherKeys() {
    TestFleet four = replicas(4);
    TestFleet five = replicas(5);
    Picker before = picker(four, RingSettings.DEFAULTS);
    Picker after = picker(five, RingSettings.DEFAULTS);
    int moved = 0;
    for (int s = 0; s < 2000; s++) {
      String was = pick(four, before, "user_" + s).id();
      String is = pick(five, after, "user_" + s).id();
      if (!was.equals(is)) {
        moved++;
        assertThat(is).isEqualTo("r4");
      }
    }
    assertThat(moved).isBetween(1, 799);
  }

  @Test
  void theOrderOfTheReplicasDoesNotMatter() {
    TestFleet fleet = replicas(6);
    TestFleet other = new TestFleet();
    IntStream.range(0, 6)
        .boxed()
        .sorted(Comparator.reverseOrder())
        .forEach(i -> other.add(TestFleet.spec("r" + i, TestFleet.MODEL)));
    Picker one = picker(fleet, RingSettings.DEFAULTS);
    Picker two = picker(other, RingSettings.DEFAULTS);
    for (int s = 0; s < 200; s++) {
      assertThat(pick(fleet, one, "s" + s).id()).isEqualTo(pick(other, two, "s" + s).id());
    }
  }

  @Test
  void sessionsReturnToARecoveredReplica() {
    TestFleet fleet = replicas(3);
    Picker picker = picker(fleet, RingSettings.DEFAULTS);
    Worker owner = pick(fleet, picker, "s");
    owner.drain(true);
    assertThat(pick(fleet, picker, "s").id()).isEqualTo(ranks(3, 100, "s", 3).get(1));
    owner.drain(false);
    assertThat(pick(fleet, picker, "s")).isEqualTo(owner);
  }

  @Test
  void afterTheFallbacksTheLeastLoadedServes() {
    TestFleet fleet = replicas(6);
    Picker picker = picker(fleet, settings(100, 1));
    List<String> ranks = ranks(6, 100, "s", 6);
    Pool pool = fleet.pool();
    for (Worker worker : pool.workers()) {
      if (ranks.indexOf(worker.id()) < 2) {
        worker.drain(true);
      } else if (ranks.indexOf(worker.id()) != 5) {
        fleet.load(worker, 3);
      }
    }
    RoutingRequest request = Requests.session("s");

    assertThat(requireNonNull(picker.pick(request, fleet.now())).id()).isEqualTo(ranks.get(5));
    assertThat(request.result().reason()).isEqualTo(PickReason.LEAST_LOAD);
  }

  @Test
  void requestsWithoutASessionSpread() {
    TestFleet fleet = replicas(4);
    Picker picker = picker(fleet, RingSettings.DEFAULTS);
    Set<Worker> byId = new HashSet<>();
    Set<Worker> bare = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      byId.add(requireNonNull(picker.pick(Requests.id("req-" + i), fleet.now())));
      bare.add(requireNonNull(picker.pick(Requests.prompt(1), fleet.now())));
    }
    assertThat(byId).hasSize(4);
    assertThat(bare).hasSize(4);
  }

  @Test
  void settingsOutOfRangeAreRefused() {
    assertThatThrownBy(() -> settings(0, 2)).hasMessage("virtualNodes: 0 (expected: 1 to 10000)");
    assertThatThrownBy(() -> settings(1, -1))
        .hasMessage("fallbackWorkers: -1 (expected: 0 to 1000)");
  }
}
