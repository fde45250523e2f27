package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * external.linearizable: every concurrent run has the results of the same operations one after the
 * other, for a table of two leases. The number of open leases is excluded: it falls shortly after a
 * lease has ended, and the table then refuses for that moment. So the table has room for all leases
 * of a run; {@link ExternalLeaseStress} checks the bound.
 */
public final class ExternalLeasesLincheck {
  private static final Duration TTL = Duration.ofSeconds(10);

  private final ExternalLeases leases;
  private final String[] ids = new String[2];

  /** Holds two leases, of 10 s each. */
  public ExternalLeasesLincheck() {
    FleetSettings all = FleetSettings.DEFAULTS;
    Fleet fleet =
        new Fleet(new FleetSettings(1, all.health(), all.breaker(), all.stall()), () -> 0);
    Worker worker = fleet.add(WorkerSpec.of("http://w"));
    worker.probed(true);
    leases =
        new ExternalLeases(new ExternalLeaseSettings(2, TTL, TTL, Duration.ofHours(1)), _ -> 0, 0);
    for (int i = 0; i < ids.length; i++) {
      Lease lease = requireNonNull(worker.tryLease(0, 0, 0, (_, _) -> {}));
      ids[i] = requireNonNull(leases.hold(lease, null, 0, LeaseTerms.of(TTL))).id();
    }
  }

  /** Settles a lease early. */
  @Operation
  public LeaseResult.Kind settle(@Param(gen = IntGen.class, conf = "0:1") int lease) {
    return leases.settle(ids[lease], 1, Outcome.SUCCEEDED, EndReport.NONE).kind();
  }

  @Operation
  public LeaseResult.Kind confirm(@Param(gen = IntGen.class, conf = "0:1") int lease) {
    return leases.confirm(ids[lease], 1).kind();
  }

  @Operation
  public LeaseResult.Kind renew(@Param(gen = IntGen.class, conf = "0:1") int lease) {
    return leases.renew(ids[lease], TTL.toNanos() / 2, TTL, false).kind();
  }

  /** Settles a lease after its first term; it is then active only if it was renewed. */
  @Operation
  public LeaseResult.Kind settleLate(@Param(gen = IntGen.class, conf = "0:1") int lease) {
    return leases.settle(ids[lease], TTL.toNanos(), Outcome.SUCCEEDED, EndReport.NONE).kind();
  }

  @Operation
  public LeaseResult.Kind prefilled(@Param(gen = IntGen.class, conf = "0:1") int lease) {
    return leases.prefilled(ids[lease], 1, Outcome.SUCCEEDED).kind();
  }
}
