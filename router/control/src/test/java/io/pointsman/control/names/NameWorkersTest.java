package io.pointsman.control.names;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.value.Resolve;
import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.StallSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class NameWorkersTest {
  private static final WorkerSpec NAMED =
      WorkerSpec.of("http://fleet.test:8000").withLabels(Map.of(Resolve.LABEL, "all"));

  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, new FakeClock()::nanos);
  private List<InetAddress> known = List.of();
  private boolean fails;

  private NameWorkers workers(WorkerSpec... specs) {
    return new NameWorkers(fleet, new WorkerSources(fleet), this::lookUp, List.of(specs));
  }

  private List<InetAddress> lookUp(String host) throws IOException {
    assertThat(host).isIn("fleet.test", "other.test");
    if (fails) {
      throw new UnknownHostException(host);
    }
    return known;
  }

  private void known(String... addresses) {
    List<InetAddress> all = new ArrayList<>();
    for (String each : addresses) {
      all.add(InetAddress.ofLiteral(each));
    }
    known = all;
  }

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).sorted().toList();
  }

  @Test
  void eachAddressIsAWorker() {
    NameWorkers names = workers(NAMED);
    known("10.0.0.1", "10.0.0.2", "fd00::1");
    names.look();
    assertThat(ids())
        .containsExactly("10.0.0.1:8000", "10.0.0.2:8000", "[fd00:0:0:0:0:0:0:1]:8000");
    assertThat(fleet.snapshot().workers())
        .allMatch(worker -> worker.spec().labels().equals(Map.of("name", "fleet.test")));
    Worker first = fleet.snapshot().worker("10.0.0.1:8000");
    names.look();
    assertThat(fleet.snapshot().worker("10.0.0.1:8000")).isSameAs(first);
  }

  @Test
  void anAddressLeavesAfterThreeAnswersWithoutIt() {
    NameWorkers names = workers(NAMED);
    known("10.0.0.1", "10.0.0.2");
    names.look();
    known("10.0.0.2", "10.0.0.3");
    names.look();
    assertThat(ids()).containsExactly("10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000");
    names.look();
    known("10.0.0.1", "10.0.0.2", "10.0.0.3");
    names.look();
    known("10.0.0.2", "10.0.0.3");
    names.look();
    names.look();
    assertThat(ids()).contains("10.0.0.1:8000");
    names.look();
    assertThat(ids()).containsExactly("10.0.0.2:8000", "10.0.0.3:8000");
  }

  @Test
  void theWorkersStayWithoutAnAnswer() {
    NameWorkers names = workers(NAMED);
    known("10.0.0.1");
    names.look();
    fails = true;
    for (int i = 0; i < 5; i++) {
      names.look();
    }
    assertThat(ids()).containsExactly("10.0.0.1:8000");
  }

  @Test
  void theWorkersHaveThePropertiesOfTheName() {
    WorkerSpec spec =
        new WorkerSpec(
            "pool",
            "http://fleet.test:8000/base",
            Role.DECODE,
            Set.of("m"),
            2,
            7,
            Map.of(Resolve.LABEL, "all", "zone", "z"));
    known("10.0.0.1");
    workers(spec).look();
    assertThat(fleet.snapshot().workers().getFirst().spec())
        .isEqualTo(
            new WorkerSpec(
                "pool/10.0.0.1",
                "http://10.0.0.1:8000/base",
                Role.DECODE,
                Set.of("m"),
                2,
                7,
                Map.of("name", "fleet.test", "zone", "z")));
  }

  @Test
  void aNameThatIsNoLongerConfiguredTakesItsWorkersAlong() {
    Worker other = fleet.add(WorkerSpec.of("http://10.0.0.9:8000"));
    NameWorkers names = workers(NAMED);
    known("10.0.0.1", "10.0.0.9");
    names.look();
    names.configure(List.of());
    assertThat(fleet.snapshot().workers()).containsExactly(other);
  }

  @Test
  void anAddressBeyondTheFleetsLimitIsLeftOut() {
    Fleet small =
        new Fleet(
            new FleetSettings(
                1, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS),
            new FakeClock()::nanos);
    known("10.0.0.1", "10.0.0.2");
    new NameWorkers(small, new WorkerSources(small), this::lookUp, List.of(NAMED)).look();
    assertThat(small.snapshot().workers()).hasSize(1);
  }
}
