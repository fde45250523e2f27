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
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class Md5RingPolicyTest {
  private final TestFleet fleet = new TestFleet();

  private Picker picker(int workers) {
    for (int i = 1; i <= workers; i++) {
      String url = "http://10.0.0." + i + ":8000";
      fleet.add(
          new WorkerSpec(
              "w" + i,
              url,
              Role.REGULAR,
              Set.of(TestFleet.MODEL),
              WorkerSpec.NO_RANK,
              0,
              Map.of()));
    }
    return new Md5RingPolicy(fleet.dice).picker(fleet.pool());
  }

  /** Computed with uhashring 2.3. */
  @ParameterizedTest
  @CsvSource({"user-1, w2", "user-2, w2", "alice, w2", "0, w3", "42, w1", "é, w2"})
  void sessionsLandWhereProductionStackSendsThem(String session, String worker) {
    Picker picker = picker(3);
    RoutingRequest request = Requests.session(session);

    assertThat(requireNonNull(picker.pick(request, fleet.now())).id()).isEqualTo(worker);
    assertThat(request.notes().reason()).isEqualTo(PickReason.HASH);
  }

  @Test
  void aWorkerThatIsOutIsPassedAsIfItWereNotInTheRing() {
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
    Picker two = new Md5RingPolicy(small.dice).picker(small.pool());
    for (int s = 0; s < 300; s++) {
      assertThat(requireNonNull(three.pick(Requests.session("s" + s), fleet.now())).id())
          .isEqualTo(requireNonNull(two.pick(Requests.session("s" + s), small.now())).id());
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
  void withNobodyLeftNobodyIsChosen() {
    Picker picker = picker(2);
    fleet.pool().workers().forEach(worker -> worker.drain(true));

    assertThat(picker.pick(Requests.session("s"), fleet.now())).isNull();
  }
}
