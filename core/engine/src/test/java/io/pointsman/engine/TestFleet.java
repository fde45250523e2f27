package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseKind;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.ScriptedRandomSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A fleet with a clock and random source that tests control; its workers are healthy by default.
 */
public final class TestFleet {
  public static final String MODEL = "m";

  public final FakeClock clock = new FakeClock();
  public final ScriptedRandomSource scripted = ScriptedRandomSource.seeded(7);
  public final RandomSource random = scripted::roll;
  public final Fleet fleet;

  public TestFleet() {
    this(FleetSettings.DEFAULTS.withoutEjectionLimit());
  }

  public TestFleet(FleetSettings settings) {
    fleet = new Fleet(settings, clock::nanos);
  }

  /** A fleet of {@code n} healthy workers {@code w0}, {@code w1}, ... that serve {@link #MODEL}. */
  public static TestFleet of(int n) {
    TestFleet fleet = new TestFleet();
    List<WorkerSpec> specs = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      specs.add(spec("w" + i, MODEL));
    }
    fleet.fleet.addAll(specs).forEach(worker -> worker.probed(true));
    return fleet;
  }

  public static WorkerSpec spec(String id, String... models) {
    return new WorkerSpec(
        id, "http://" + id, Role.REGULAR, Set.of(models), WorkerSpec.NO_RANK, 0, Map.of());
  }

  /** Adds a healthy worker. */
  public Worker add(WorkerSpec spec) {
    Worker worker = fleet.add(spec);
    worker.probed(true);
    return worker;
  }

  public Worker worker(int index) {
    return fleet.snapshot().workers().get(index);
  }

  public Pool pool() {
    return fleet.snapshot().pool(Role.REGULAR);
  }

  public long now() {
    return clock.nanos();
  }

  /** Takes a lease on {@code worker}, which must be eligible. */
  public Lease lease(Worker worker) {
    return lease(worker, LeaseKind.STREAM);
  }

  public Lease lease(Worker worker, LeaseKind kind) {
    return requireNonNull(worker.tryLease(now(), kind, 0, 0, (_, _) -> {}), "lease");
  }

  /** Places {@code n} requests on {@code worker}. */
  public void load(Worker worker, int n) {
    for (int i = 0; i < n; i++) {
      lease(worker);
    }
  }

  /** Makes {@code worker} permanently unhealthy. */
  public void kill(Worker worker) {
    for (int i = 0; i < 10; i++) {
      worker.probed(false);
    }
  }
}
