package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.cost.latency.LatencyModel;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import io.pointsman.engine.policy.cost.latency.WorkerPhase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Kinds of workers, and learned values after a change of kind. */
class CostKindsTest {
  private final TestFleet fleet = new TestFleet();
  private final CostLearner learner =
      new CostLearner(CostSettings.DEFAULTS, fleet.clock::nanos, 16_384);

  private PoolModel kind(Worker worker) {
    for (Role role : Role.values()) {
      Pool pool = fleet.fleet.snapshot().pool(role);
      WorkerModel[] models = learner.adopt(pool);
      for (int i = 0; i < models.length; i++) {
        if (pool.worker(i) == worker) {
          return models[i].kind().pool();
        }
      }
    }
    throw new AssertionError(worker);
  }

  private Worker worker(String id, String... models) {
    return fleet.add(TestFleet.spec(id, models));
  }

  private void serves(Worker worker, String... models) {
    fleet.fleet.learnModels(worker, Set.of(models));
  }

  private static void learn(PoolModel kind) {
    for (int i = 0; i < 1000; i++) {
      kind.latency().learn(1000, 0, 500);
      kind.delayed(WorkerPhase.PREFILLING, 200);
      kind.answered(40);
      kind.counted(1000, 500);
    }
    assertLearned(kind);
  }

  private static void assertLearned(PoolModel kind) {
    assertThat(kind.latency().millis(1000, 0)).isBetween(450.0, 510.0);
    assertThat(kind.delay(WorkerPhase.PREFILLING)).isGreaterThan(150);
    assertThat(kind.meanAnswer()).isLessThan(45);
    assertThat(kind.tokens(Prompt.text(1, 100))).isBetween(795, 850);
  }

  private static void assertNew(PoolModel kind) {
    assertThat(kind.latency().present()).isEqualTo(LatencyModel.PRIOR);
    assertThat(kind.meanAnswer()).isEqualTo(256);
  }

  @Test
  void adaptersMakeNoKinds() {
    Worker first = worker("a", "m");
    Worker second = worker("b", "m");
    PoolModel kind = kind(first);
    serves(first, "m", "m:one");
    serves(second, "m", "m:two", "m:three");

    assertThat(kind(first)).isSameAs(kind);
    assertThat(kind(second)).isSameAs(kind);
  }

  @Test
  void learnedValuesStayWhenWorkersReportTheirModels() {
    Worker first = worker("a");
    Worker second = worker("b");
    learn(kind(first));
    assertThat(kind(second)).isSameAs(kind(first));
    serves(first, "m");
    assertLearned(kind(first));
    serves(second, "m");
    assertThat(kind(second)).isSameAs(kind(first));
    assertLearned(kind(second));

    serves(first, "m", "alias");
    assertLearned(kind(first));
    serves(first, "m");
    assertThat(kind(first)).isSameAs(kind(second));
  }

  @Test
  void engineThatServesAnotherModelIsLearnedAnew() {
    Worker worker = worker("a", "small");
    learn(kind(worker));
    serves(worker, "large");

    assertNew(kind(worker));
  }

  @Test
  void kindsStayApartAfterManyModelChanges() {
    Worker steady = worker("steady", "m");
    Worker unlisted = worker("unlisted");
    Worker decode =
        fleet.add(
            new WorkerSpec(
                "d", "http://d", Role.DECODE, Set.of("m"), WorkerSpec.NO_RANK, 0, Map.of()));
    Worker changing = worker("changing", "first");
    learn(kind(steady));
    for (int i = 0; i < 200; i++) {
      serves(changing, "model-" + i);
      assertNew(kind(changing));
    }

    List<PoolModel> kinds = new ArrayList<>();
    for (Worker each : List.of(steady, unlisted, decode, changing)) {
      kinds.add(kind(each));
    }
    assertThat(kinds).doesNotHaveDuplicates();
    assertLearned(kind(steady));
    assertThat(learner.kinds()).isEqualTo(4);
  }

  @Test
  void aKindEndsWithItsLastWorker() {
    Worker first = worker("a", "m");
    Worker second = worker("b", "m");
    learn(kind(first));
    leaves(first);
    assertLearned(kind(second));
    leaves(second);
    assertThat(learner.kinds()).isZero();

    assertNew(kind(worker("c", "m")));
  }

  private void leaves(Worker worker) {
    fleet.fleet.remove(worker.id());
    learner.forget(worker);
  }

  @Test
  void workersThatReportLaterJoinTheirKind() {
    Worker worker = worker("a");
    WorkerModel model = learner.adopt(fleet.pool())[0];
    learn(model.kind().pool());
    serves(worker, "m", "m:adapter");
    assertThat(model.misplaced()).isTrue();
    learner.revisit(model, fleet.now());
    serves(worker, "m", "m:another");

    assertThat(model.misplaced()).isFalse();
    assertLearned(model.kind().pool());
    assertThat(learner.kinds()).isEqualTo(1);
  }

  @Test
  void aPickerThatIsBuiltLateTakesNoSlotFromItsNextOwner() {
    Worker former = worker("a", "m");
    Pool stale = fleet.pool();
    learner.adopt(stale);
    leaves(former);
    Worker next = worker("b", "other");
    assertThat(next.slot()).isEqualTo(former.slot());
    WorkerModel model = learner.adopt(fleet.pool())[0];

    WorkerModel late = learner.adopt(stale)[0];

    assertThat(learner.model(next)).isSameAs(model);
    assertThat(learner.model(former)).isNull();
    assertThat(late.worker()).isSameAs(former);
    assertThat(learner.kinds()).isEqualTo(1);
  }

  /** A taught learner uses the values of its teacher, also after a change of models. */
  @Test
  void theTaughtFollowTheirTeachersKinds() {
    CostLearner taught =
        new CostLearner(CostSettings.DEFAULTS, fleet.clock::nanos, 16_384).taughtBy(learner);
    Worker worker = worker("a", "m");
    for (String model : List.of("m", "other", "m")) {
      serves(worker, model);
      PoolModel known = kind(worker);
      PoolModel copy = taught.adopt(fleet.pool())[0].kind().pool();
      known.latency().learn(1000, 0, 500);

      assertThat(copy.latency().present()).isSameAs(known.latency().present());
      assertThat(learner.kinds()).isEqualTo(1);
      assertThat(taught.kinds()).isEqualTo(1);
    }
  }
}
