package io.pointsman.engine;

import static io.pointsman.engine.TestFleet.MODEL;
import static io.pointsman.engine.TestFleet.spec;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** The workers chosen for a request's model, and the reasons if there are none. */
class ModelsOfWorkersTest {
  private static final String NOBODYS = "nobody's";

  private final TestFleet fleet = TestFleet.of(1);
  private final RoutingEngine engine = engine(UnknownModel.REJECT);

  private RoutingEngine engine(UnknownModel unknown) {
    PolicyParts parts =
        new PolicyParts(fleet.clock::nanos, fleet.random, 64, PolicySettings.DEFAULTS);
    return new RoutingEngine(
        fleet.fleet,
        Policies.create("round_robin", parts),
        new EngineSettings(unknown),
        new RecordedEvents(),
        fleet.clock::nanos,
        fleet.random);
  }

  private static RoutingRequest request(String model) {
    return RoutingRequest.builder().model(model).build();
  }

  private RejectReason refusal(String model) {
    Decision decision = engine.decide(request(model));
    assertThat(decision).isInstanceOf(Decision.Rejected.class);
    return ((Decision.Rejected) decision).reason();
  }

  private Set<Worker> serving(RoutingEngine engine, String model) {
    Set<Worker> workers = new HashSet<>();
    for (int i = 0; i < 2 * fleet.fleet.snapshot().workers().size(); i++) {
      if (engine.decide(request(model)) instanceof Decision.Routed(var lease)) {
        workers.add(lease.worker());
        lease.succeeded();
      }
    }
    return workers;
  }

  private Worker unlisted(String id) {
    Worker worker = fleet.add(spec(id));
    fleet.fleet.learnModels(worker, Set.of());
    return worker;
  }

  @Test
  void modelIsPendingWhileAWorkerHasNotBeenProbed() {
    Worker fresh = fleet.fleet.add(spec("new"));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.MODELS_PENDING);

    fresh.probed(false);
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void modelIsPendingWhileAHealthyWorkerHasNotReported() {
    Worker fresh = fleet.add(spec("new"));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.MODELS_PENDING);

    fleet.fleet.learnModels(fresh, Set.of("another"));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  /** A decision during a fleet change uses the previous snapshot. */
  @Test
  void modelIsPendingUntilTheEngineUsesTheSnapshotWithIt() {
    Worker fresh = fleet.add(spec("new"));
    List<Decision> meanwhile = new ArrayList<>();
    AtomicReference<RoutingEngine> late = new AtomicReference<>();
    fleet.fleet.listen(
        _ -> {
          RoutingEngine behind = late.get();
          if (behind != null) {
            meanwhile.add(behind.decide(request("another")));
          }
        });
    late.set(engine(UnknownModel.REJECT));
    fleet.fleet.learnModels(fresh, Set.of("another"));
    fleet.fleet.learnModels(fresh, Set.of());

    assertThat(meanwhile.getFirst())
        .isEqualTo(new Decision.Rejected(RejectReason.MODELS_PENDING, 0));
    assertThat(meanwhile.getLast()).isInstanceOf(Decision.Routed.class);
  }

  @Test
  void modelIsUnknownWhenAllWorkersHaveReported() {
    fleet.kill(fleet.worker(0));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void noWorkerIsAvailableWhileAllAreDownAndSomeHaveNeverReported() {
    fleet.fleet.add(spec("never")).probed(false);
    fleet.kill(fleet.worker(0));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.NONE_AVAILABLE);

    fleet.fleet.remove("w0");
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.NONE_AVAILABLE);
    fleet.fleet.remove("never");
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.NO_WORKERS);
  }

  @Test
  void workerThatReportsNoModelsServesAny() {
    Worker unlisted = unlisted("unlisted");

    assertThat(serving(engine, NOBODYS)).containsExactly(unlisted);
    assertThat(serving(engine, MODEL)).containsExactlyInAnyOrder(fleet.worker(0), unlisted);
    assertThat(engine.serves(Role.REGULAR, NOBODYS)).isTrue();

    fleet.kill(unlisted);
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.NONE_AVAILABLE);
  }

  @Test
  void workerThatReportsItsModelsLaterServesOnlyThose() {
    Worker unlisted = unlisted("unlisted");
    fleet.fleet.learnModels(unlisted, Set.of("another"));

    assertThat(serving(engine, "another")).containsExactly(unlisted);
    assertThat(serving(engine, MODEL)).containsExactly(fleet.worker(0));
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void aModelWithoutRemainingWorkersIsUnavailableInsteadOfUnknown() {
    Worker only = unlisted("only");
    fleet.fleet.learnModels(only, Set.of("another"));
    fleet.fleet.remove(only);

    assertThat(refusal("another")).isEqualTo(RejectReason.NONE_AVAILABLE);
    assertThat(refusal("another:adapter")).isEqualTo(RejectReason.NONE_AVAILABLE);
    assertThat(refusal(NOBODYS)).isEqualTo(RejectReason.UNKNOWN_MODEL);

    Worker back = unlisted("back");
    fleet.fleet.learnModels(back, Set.of("another"));
    assertThat(serving(engine, "another")).containsExactly(back);
  }

  @Test
  void aModelIsUnavailableForADayAfterItsLastWorkerLeft() {
    Worker first = unlisted("first");
    fleet.fleet.learnModels(first, Set.of("another"));
    Worker last = unlisted("last");
    fleet.fleet.learnModels(last, Set.of("another"));
    fleet.fleet.remove(first);
    fleet.clock.advance(Duration.ofHours(23));
    fleet.fleet.remove(last);

    fleet.clock.advance(Duration.ofHours(23));
    assertThat(refusal("another")).isEqualTo(RejectReason.NONE_AVAILABLE);

    fleet.clock.advance(Duration.ofHours(2));
    assertThat(refusal("another")).isEqualTo(RejectReason.UNKNOWN_MODEL);
    assertThat(refusal("another:adapter")).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void aModelThatAWorkerNoLongerServesIsUnknown() {
    Worker first = unlisted("first");
    fleet.fleet.learnModels(first, Set.of("another"));
    Worker second = unlisted("second");
    fleet.fleet.learnModels(second, Set.of("another"));
    fleet.fleet.remove(first);
    fleet.fleet.learnModels(second, Set.of("third"));

    assertThat(refusal("another")).isEqualTo(RejectReason.UNKNOWN_MODEL);
  }

  @Test
  void fleetWithoutReportedModelsServesEveryModelByAllWorkers() {
    fleet.fleet.remove("w0");
    Worker one = unlisted("one");
    Worker two = unlisted("two");

    assertThat(serving(engine, NOBODYS)).containsExactlyInAnyOrder(one, two);
    assertThat(fleet.fleet.snapshot().modelNames()).isEmpty();
  }

  @Test
  void requestsMustNameAModelUnlessAnyWorkerQualifies() {
    unlisted("unlisted");
    assertThat(engine.modelsToName()).isEmpty();
    fleet.fleet.learnModels(unlisted("another"), Set.of("another"));

    assertThat(engine.modelsToName()).containsExactlyInAnyOrder(MODEL, "another");
    assertThat(engine(UnknownModel.BASE_MODEL).modelsToName()).hasSize(2);
    assertThat(engine(UnknownModel.ANY_WORKER).modelsToName()).isEmpty();
  }

  @Test
  void unknownModelsMayGoToWorkersThatReportTheirModels() {
    Worker unlisted = unlisted("unlisted");

    assertThat(serving(engine(UnknownModel.ANY_WORKER), NOBODYS))
        .containsExactlyInAnyOrder(fleet.worker(0), unlisted);
  }

  /** Prefill and decode engines may serve one model under different names. */
  @Test
  void modelNameKnownToOneRoleIsServedByTheOtherRoleToo() {
    RoutingEngine any = engine(UnknownModel.ANY_WORKER);
    Worker prefill = fleet.add(ofRole(Role.PREFILL, "its-p"));
    Worker decode = fleet.add(ofRole(Role.DECODE, "its-d"));

    assertThat(any.modelsToName()).isEmpty();
    for (String model : new String[] {"its-p", "its-d", null}) {
      Pool first = any.pool(Role.PREFILL, model);
      Pool then = any.pool(Role.DECODE, model);
      assertThat(first == null ? null : first.workers()).containsExactly(prefill);
      assertThat(then == null ? null : then.workers()).containsExactly(decode);
    }
    assertThat(engine.serves(Role.DECODE, "its-p")).as("by default").isFalse();
  }

  private static WorkerSpec ofRole(Role role, String model) {
    return new WorkerSpec(
        model, "http://" + model, role, Set.of(model), WorkerSpec.NO_RANK, 0, Map.of());
  }
}
