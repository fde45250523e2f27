package io.pointsman.api.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.settings.AdminSettings;
import io.pointsman.config.settings.DisaggSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.StallSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MembershipTest {
  private static final AdminSettings SETTINGS =
      new AdminSettings(
          true,
          Duration.ofSeconds(10),
          1,
          true,
          HealthAnswer.ALL,
          List.of(),
          "",
          Duration.ofMinutes(1));

  private final FakeClock clock = new FakeClock();

  private Fleet fleet(int maxWorkers) {
    return new Fleet(
        new FleetSettings(
            maxWorkers, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS),
        clock::nanos);
  }

  @Test
  void concurrentAdditionsDoNotWaitForEachOther() throws Exception {
    Fleet fleet = fleet(16);
    CountDownLatch bothWait = new CountDownLatch(2);
    Membership membership =
        new Membership(
            fleet,
            SETTINGS,
            DisaggSettings.DEFAULTS,
            clock::nanos,
            _ -> {
              bothWait.countDown();
              assertThat(bothWait.await(60, TimeUnit.SECONDS)).isTrue();
              fleet.snapshot().workers().forEach(worker -> worker.probed(true));
            });
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<@Nullable String>> added = new ArrayList<>();
      added.add(threads.submit(() -> membership.add("http://a:1", Set.of())));
      added.add(threads.submit(() -> membership.add("http://b:1", Set.of())));
      for (Future<@Nullable String> each : added) {
        assertThat(each.get()).isNull();
      }
    }
    assertThat(fleet.snapshot().workers()).hasSize(2);
  }

  @Test
  void aCordonDuringTheAdditionKeepsTheWorker() throws Exception {
    Fleet fleet = fleet(16);
    Membership membership =
        new Membership(
            fleet,
            SETTINGS,
            DisaggSettings.DEFAULTS,
            clock::nanos,
            pause -> {
              clock.advance(pause);
              Worker joining = fleet.snapshot().workers().getFirst();
              if (joining.cordoned()) {
                joining.probed(true);
              }
              joining.cordon(true);
            });
    assertThat(membership.add("http://a:1", Set.of())).isNull();
    assertThat(fleet.snapshot().workers()).singleElement().matches(Worker::cordoned);
  }

  @Test
  void aJoiningWorkerIsKnownAsJoining() throws Exception {
    Fleet fleet = fleet(16);
    List<Boolean> joining = new ArrayList<>();
    Membership[] itself = new Membership[1];
    itself[0] =
        new Membership(
            fleet,
            SETTINGS,
            DisaggSettings.DEFAULTS,
            clock::nanos,
            _ -> {
              Worker worker = fleet.snapshot().workers().getFirst();
              joining.add(itself[0].joining(worker));
              worker.probed(true);
            });
    assertThat(itself[0].add("http://a:1", Set.of())).isNull();
    joining.add(itself[0].joining(fleet.snapshot().workers().getFirst()));
    assertThat(joining).containsExactly(true, false);
  }

  @Test
  void aSecondAdditionOfAJoiningWorkerWaitsToo() throws Exception {
    Fleet fleet = fleet(16);
    List<@Nullable String> second = new ArrayList<>();
    int[] pauses = new int[1];
    Membership[] itself = new Membership[1];
    itself[0] =
        new Membership(
            fleet,
            SETTINGS,
            DisaggSettings.DEFAULTS,
            clock::nanos,
            _ -> {
              if (pauses[0]++ == 0) {
                second.add(itself[0].add("http://a:1", Set.of()));
              } else {
                clock.advance(Duration.ofSeconds(1));
              }
            });
    assertThat(itself[0].add("http://a:1", Set.of())).contains("did not become healthy");
    assertThat(second).singleElement().asString().contains("did not become healthy");
    assertThat(fleet.snapshot().workers()).isEmpty();
  }

  @Test
  void anEngineWithAnotherDescriptionIsRefused() throws Exception {
    Fleet fleet = fleet(16);
    fleet.add(WorkerSpec.of("http://a:1").withRole(Role.PREFILL)).probed(true);
    fleet.add(WorkerSpec.of("http://b:1")).probed(true);
    Membership membership =
        new Membership(
            fleet, SETTINGS, DisaggSettings.DEFAULTS, clock::nanos, time -> clock.advance(time));
    assertThat(membership.add("http://a:1", Set.of()))
        .isEqualTo(
            "url: http://a:1, worker_type: regular (expected: url: http://a:1, worker_type:"
                + " prefill, because worker a:1 is in the fleet with these; remove it first, or"
                + " list both in a file, with an id for each)");
    assertThat(membership.add("https://b:1", Set.of()))
        .startsWith("url: https://b:1")
        .contains("(expected: url: http://b:1", "remove it first");
    assertThat(membership.add("http://b:1/", Set.of())).isNull();
    assertThat(fleet.snapshot().workers()).hasSize(2);
  }

  @Test
  void anEngineWithOtherModelsIsRefused() throws Exception {
    Fleet fleet = fleet(16);
    Membership membership =
        new Membership(fleet, SETTINGS, DisaggSettings.DEFAULTS, clock::nanos, _ -> {});
    Worker present = fleet.add(WorkerSpec.of("http://a:1"));
    present.probed(true);

    assertThat(membership.add("http://a:1", Set.of("m")))
        .as("what it serves is not known yet")
        .isNull();
    fleet.learnModels(present, Set.of("m", "l"));
    assertThat(membership.add("http://a:1", Set.of("m"))).isNull();
    assertThat(membership.add("http://a:1", Set.of())).isNull();
    assertThat(membership.add("http://a:1", Set.of("other")))
        .isEqualTo("model_id: other (expected: one of [l, m], which are the models of worker a:1)");
  }

  @Test
  void aRemovalEndsTheWaitForAJoiningWorker() throws Exception {
    Fleet fleet = fleet(16);
    Membership membership =
        new Membership(
            fleet, SETTINGS, DisaggSettings.DEFAULTS, clock::nanos, _ -> fleet.remove("a:1"));
    assertThat(membership.add("http://a:1", Set.of()))
        .startsWith("worker http://a:1 was removed before it was healthy");
    assertThat(fleet.snapshot().workers()).isEmpty();
  }

  /** Workers are healthy at the first look. */
  private Membership withGoodProbes(Fleet fleet) {
    return new Membership(
        fleet,
        SETTINGS,
        DisaggSettings.DEFAULTS,
        clock::nanos,
        _ -> fleet.snapshot().workers().forEach(worker -> worker.probed(true)));
  }

  @Test
  void anAdditionHasTheSettingsInForce() throws Exception {
    Fleet fleet = fleet(16);
    Membership membership = withGoodProbes(fleet);
    membership.use(SETTINGS.with().dataParallelSize(3).build(), DisaggSettings.DEFAULTS);
    assertThat(membership.add("http://a:1", Set.of())).isNull();
    assertThat(fleet.snapshot().workers()).hasSize(3);
  }

  @Test
  void aFullFleetTakesNoMore() throws Exception {
    Fleet fleet = fleet(1);
    Membership membership = withGoodProbes(fleet);
    assertThat(membership.add("http://a:1", Set.of())).isNull();
    assertThat(membership.add("http://b:1", Set.of())).contains("expected: at most 1");
    assertThat(fleet.snapshot().workers()).hasSize(1);
  }

  @Test
  void aReplacementOfAJoiningWorkerIsKept() throws Exception {
    Fleet fleet = fleet(16);
    Membership membership =
        new Membership(
            fleet,
            SETTINGS,
            DisaggSettings.DEFAULTS,
            clock::nanos,
            _ -> {
              fleet.remove("a:1");
              fleet.add(WorkerSpec.of("http://a:1"));
            });
    assertThat(membership.add("http://a:1", Set.of())).isNotNull();
    assertThat(fleet.snapshot().workers())
        .singleElement()
        .satisfies(worker -> assertThat(worker.draining()).isFalse());
  }

  @Test
  void anEngineThatIsAWorkerUnderAnotherIdIsNotAddedAgain() throws Exception {
    Fleet fleet = fleet(16);
    WorkerSpec pod =
        new WorkerSpec("a/one", "http://a:1", Role.REGULAR, Set.of(), 0, 0, Map.of("pod", "one"));
    fleet.add(pod);
    Membership ranks =
        new Membership(
            fleet,
            new AdminSettings(
                true,
                Duration.ofSeconds(10),
                2,
                true,
                HealthAnswer.ALL,
                List.of(),
                "",
                Duration.ofMinutes(1)),
            DisaggSettings.DEFAULTS,
            clock::nanos,
            _ -> fleet.snapshot().workers().forEach(worker -> worker.probed(true)));
    assertThat(ranks.add("http://a:1/", Set.of())).isNull();
    assertThat(fleet.snapshot().workers()).extracting(Worker::id).containsExactly("a/one", "a:1@1");
  }
}
