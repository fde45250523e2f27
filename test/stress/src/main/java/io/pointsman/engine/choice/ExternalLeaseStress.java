package io.pointsman.engine.choice;

import static java.util.Objects.requireNonNull;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pointsman.engine.choice.LeaseResult.Kind;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.LLI_Result;
import org.openjdk.jcstress.infra.results.LLL_Result;
import org.openjdk.jcstress.infra.results.ZZI_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/** Leases that external proxies hold. Sequences of operations: {@link ExternalLeasesLincheck}. */
public final class ExternalLeaseStress {
  private static final String NAME = "a-lease-with-a-name-of-its-own-that-is-long-enough";
  private static final Duration TTL = Duration.ofSeconds(10);
  private static final long NANOS = TTL.toNanos();

  private ExternalLeaseStress() {}

  /** A worker, and a table for leases on it. */
  public abstract static class Table {
    final Worker worker;
    final ExternalLeases leases;

    Table(int most) {
      FleetSettings all = FleetSettings.DEFAULTS;
      Fleet fleet =
          new Fleet(new FleetSettings(1, all.health(), all.breaker(), all.stall()), () -> 0);
      worker = fleet.add(WorkerSpec.of("http://w"));
      worker.probed(true);
      leases =
          new ExternalLeases(
              new ExternalLeaseSettings(most, TTL, TTL, Duration.ofHours(1)), _ -> 0, 0);
    }

    Lease lease() {
      return requireNonNull(worker.tryLease(0, 0, 0, (_, _) -> {}));
    }

    /** Counts each held lease twice: in the table, and on its worker. */
    String counts() {
      return "open %d ended %d"
          .formatted(
              leases.open() + worker.inFlight(),
              leases.tally().succeeded() + leases.tally().expired());
    }

    /** Holds a lease as the engine does: without room the engine's lease ends. */
    @Nullable ExternalLease hold(LeaseTerms terms, long now) {
      Lease lease = lease();
      ExternalLease held = leases.hold(lease, null, now, terms);
      if (held == null) {
        lease.ignored();
      }
      return held;
    }
  }

  /** A table with one lease, which expires at 10 s. */
  public abstract static class OneExternalLease extends Table {
    final String id;

    OneExternalLease(int most) {
      super(most);
      id = requireNonNull(hold(LeaseTerms.of(TTL), 0)).id();
    }
  }

  /** external.ends-once: a settlement and the expiry end a lease once, and it is counted once. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"DONE, false, open 0 ended 1", "UNKNOWN, true, open 0 ended 1"},
      expect = ACCEPTABLE)
  @State
  public static class SettlementAndExpiry extends OneExternalLease {
    public SettlementAndExpiry() {
      super(4);
    }

    @Actor
    public void settles(LLL_Result r) {
      r.r1 = leases.settle(id, 0, Outcome.SUCCEEDED, EndReport.NONE).kind();
    }

    @Actor
    public void expires(LLL_Result r) {
      r.r2 = leases.expire(NANOS) == 1;
    }

    @Arbiter
    public void after(LLL_Result r) {
      r.r3 = counts();
    }
  }

  /** external.ends-once: of two settlements one is done and one is repeated. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"DONE, REPEATED, 0", "REPEATED, DONE, 0"},
      expect = ACCEPTABLE)
  @State
  public static class TwoSettlements extends OneExternalLease {
    public TwoSettlements() {
      super(4);
    }

    @Actor
    public void first(LLI_Result r) {
      r.r1 = leases.settle(id, 0, Outcome.SUCCEEDED, EndReport.NONE).kind();
    }

    @Actor
    public void second(LLI_Result r) {
      r.r2 = leases.settle(id, 0, Outcome.IGNORED, EndReport.NONE).kind();
    }

    @Arbiter
    public void after(LLI_Result r) {
      r.r3 = leases.open() + worker.inFlight();
    }
  }

  /** external.renewed-or-expired: a renewal that is confirmed prevents the expiry. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"DONE, false, open 2 ended 0", "UNKNOWN, true, open 0 ended 1"},
      expect = ACCEPTABLE)
  @State
  public static class RenewalAndExpiry extends OneExternalLease {
    public RenewalAndExpiry() {
      super(4);
    }

    @Actor
    public void renews(LLL_Result r) {
      r.r1 = leases.renew(id, NANOS / 2, TTL, false).kind();
    }

    @Actor
    public void expires(LLL_Result r) {
      r.r2 = leases.expire(NANOS) == 1;
    }

    @Arbiter
    public void after(LLL_Result r) {
      r.r3 = counts();
    }
  }

  /** external.settled-early: a lease is not active after the settlement of its name. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"FREE, DONE, 0", "SETTLED, UNKNOWN, 0", "SETTLED, DONE, 0", "SETTLED, REPEATED, 0"},
      expect = ACCEPTABLE)
  @State
  public static class HoldAndEarlySettlement extends Table {
    private final LeaseTerms terms = new LeaseTerms(TTL, NAME);

    public HoldAndEarlySettlement() {
      super(4);
    }

    @Actor
    public void holds(LLI_Result r) {
      NamedLeases.IdClaim claim = leases.claim(terms, 0);
      if (claim == NamedLeases.IdClaim.FREE) {
        claim = leases.named(requireNonNull(hold(terms, 0)), 0);
      }
      r.r1 = claim;
    }

    @Actor
    public void settles(LLI_Result r) {
      r.r2 = leases.settle(NAME, 0, Outcome.IGNORED, EndReport.NONE).kind();
    }

    @Arbiter
    public void after(LLI_Result r) {
      r.r3 = leases.open() + worker.inFlight();
    }
  }

  /** external.expiry-known: the time of the next expiry is never later than a lease's. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(id = "true", expect = ACCEPTABLE)
  @State
  public static class HoldAndExpiryScan extends OneExternalLease {
    public HoldAndExpiryScan() {
      super(4);
    }

    @Actor
    public void holds() {
      requireNonNull(hold(LeaseTerms.of(TTL), 1));
    }

    @Actor
    public void expires() {
      leases.expire(NANOS);
    }

    @Arbiter
    public void after(Z_Result r) {
      r.r1 = leases.untilExpiry(NANOS) <= 1;
    }
  }

  /** external.bound: at most the maximum number is held, also by concurrent requests. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"true, false, 2", "false, true, 2"},
      expect = ACCEPTABLE)
  @State
  public static class TwoHoldsForOnePlace extends Table {
    public TwoHoldsForOnePlace() {
      super(1);
    }

    @Actor
    public void first(ZZI_Result r) {
      r.r1 = hold(LeaseTerms.of(TTL), 0) != null;
    }

    @Actor
    public void second(ZZI_Result r) {
      r.r2 = hold(LeaseTerms.of(TTL), 0) != null;
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = leases.open() + worker.inFlight();
    }
  }

  /** external.room-used: a request is refused only if the maximum number is held. */
  @JCStressTest
  @org.openjdk.jcstress.annotations.Outcome(
      id = {"true, false, 2", "false, true, 2"},
      expect = ACCEPTABLE)
  @State
  public static class RefusedHoldAndEnd extends OneExternalLease {
    public RefusedHoldAndEnd() {
      super(1);
    }

    @Actor
    public void holds(ZZI_Result r) {
      r.r1 = hold(LeaseTerms.of(TTL), 0) != null;
    }

    @Actor
    public void endsAndHolds(ZZI_Result r) {
      boolean done = leases.settle(id, 0, Outcome.IGNORED, EndReport.NONE).kind() == Kind.DONE;
      r.r2 = done && hold(LeaseTerms.of(TTL), 0) != null;
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = leases.open() + worker.inFlight();
    }
  }
}
