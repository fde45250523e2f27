package io.pointsman.engine.policy.hash;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Requests;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Md5RingPolicyTest {
  private final TestFleet fleet = new TestFleet();

  private static WorkerSpec spec(int i) {
    String url = "http://10.0.0." + i + ":8000";
    Set<String> models = Set.of(TestFleet.MODEL);
    return new WorkerSpec("w" + i, url, Role.REGULAR, models, WorkerSpec.NO_RANK, 0, Map.of());
  }

  private static Picker picker(TestFleet fleet, WorkerSpec... specs) {
    for (WorkerSpec spec : specs) {
      fleet.add(spec);
    }
    return new Md5RingPolicy(fleet.random).picker(fleet.pool());
  }

  private Picker picker(int workers) {
    return picker(
        fleet, IntStream.rangeClosed(1, workers).mapToObj(i -> spec(i)).toArray(WorkerSpec[]::new));
  }

  /** The same engines with three ranks each, not in rank order. */
  private Picker ofRanks(int engines) {
    return picker(
        fleet,
        IntStream.rangeClosed(1, engines)
            .boxed()
            .flatMap(i -> Stream.of(2, 0, 1).map(rank -> spec(i).atRank(rank)))
            .toArray(WorkerSpec[]::new));
  }

  private Worker pick(Picker picker, String session) {
    return requireNonNull(picker.pick(Requests.session(session), fleet.now()), "picked");
  }

  /** Computed with uhashring 2.3. */
  @ParameterizedTest
  @CsvSource({"user-1, w2", "user-2, w2", "alice, w2", "0, w3", "42, w1", "é, w2"})
  void sessionsGoWhereProductionStackSendsThem(String session, String worker) {
    Picker picker = picker(3);
    RoutingRequest request = Requests.session(session);

    assertThat(requireNonNull(picker.pick(request, fleet.now())).id()).isEqualTo(worker);
    assertThat(request.result().reason()).isEqualTo(PickReason.HASH);
  }

  @Test
  void anIneligibleWorkerIsSkippedAsIfItWereNotInTheRing() {
    Picker three = picker(3);
    Worker third = fleet.worker(2);
    TestFleet without = fleet;
    third.drain(true);
    TestFleet small = new TestFleet();
    for (Worker worker : without.pool().workers()) {
      if (worker != third) {
        small.add(worker.spec());
      }
    }
    Picker two = new Md5RingPolicy(small.random).picker(small.pool());
    for (int s = 0; s < 300; s++) {
      assertThat(requireNonNull(three.pick(Requests.session("s" + s), fleet.now())).id())
          .isEqualTo(requireNonNull(two.pick(Requests.session("s" + s), small.now())).id());
    }
  }

  @Test
  void ranksDivideTheSessionsOfTheirEngine() {
    Picker ranks = ofRanks(3);
    Picker engines = picker(new TestFleet(), spec(1), spec(2), spec(3));
    Map<Worker, Integer> ofRank = new HashMap<>();
    Map<String, Integer> ofEngine = new HashMap<>();
    for (int s = 0; s < 3000; s++) {
      Worker worker = pick(ranks, "s" + s);
      String url = worker.spec().url();
      assertThat(url).isEqualTo(pick(engines, "s" + s).spec().url());
      ofRank.merge(worker, 1, Integer::sum);
      ofEngine.merge(url, 1, Integer::sum);
    }

    assertThat(ofRank).hasSize(9);
    ofRank.forEach(
        (worker, n) -> {
          int fair = requireNonNull(ofEngine.get(worker.spec().url())) / 3;
          assertThat(n).isBetween(fair * 3 / 4, fair * 5 / 4);
        });
  }

  @Test
  void anotherRankReplacesAnIneligibleOneAndNoOtherSessionMoves() {
    Picker picker = ofRanks(3);
    Worker out = fleet.worker(4);
    Map<String, Worker> before = new HashMap<>();
    for (int s = 0; s < 300; s++) {
      before.put("s" + s, pick(picker, "s" + s));
    }
    out.drain(true);

    before.forEach(
        (session, own) -> {
          RoutingRequest request = Requests.session(session);
          Worker now = requireNonNull(picker.pick(request, fleet.now()), "picked");
          if (own == out) {
            assertThat(now.spec().url()).isEqualTo(out.spec().url());
            assertThat(request.result().reason()).isEqualTo(PickReason.HASH_SPILL);
          } else {
            assertThat(now).isSameAs(own);
            assertThat(request.result().reason()).isEqualTo(PickReason.HASH);
          }
        });
  }

  @Test
  void routersWithAnotherOrderOfRanksAgree() {
    Picker one = ofRanks(1);
    Picker other = picker(new TestFleet(), spec(1).atRank(0), spec(1).atRank(1), spec(1).atRank(2));
    for (int s = 0; s < 50; s++) {
      assertThat(pick(one, "s" + s).id()).isEqualTo(pick(other, "s" + s).id());
    }
  }

  @Test
  void withoutASessionTheLeastLoadedServes() {
    Picker picker = picker(3);
    fleet.load(fleet.worker(0), 2);
    fleet.load(fleet.worker(2), 1);

    assertThat(picker.pick(Requests.prompt(1), fleet.now())).isEqualTo(fleet.worker(1));
    assertThat(picker.pick(Requests.id("r"), fleet.now())).isEqualTo(fleet.worker(1));
  }

  @Test
  void withoutEligibleWorkersNoneIsChosen() {
    Picker picker = picker(2);
    fleet.pool().workers().forEach(worker -> worker.drain(true));

    assertThat(picker.pick(Requests.session("s"), fleet.now())).isNull();
  }
}
