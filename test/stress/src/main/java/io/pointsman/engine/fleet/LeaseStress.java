package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE_INTERESTING;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.openjdk.jcstress.infra.results.ZI_Result;
import org.openjdk.jcstress.infra.results.ZZI_Result;
import org.openjdk.jcstress.infra.results.ZZJ_Result;
import org.openjdk.jcstress.infra.results.Z_Result;

/**
 * Leases, and the worker's counts and marks that they change. It is one file because jcstress needs
 * a class for each race, and all races use the same two states.
 */
public final class LeaseStress {
  private static final WorkerSpec SPEC = WorkerSpec.of("http://w");
  private static final long HOUR = TimeUnit.HOURS.toNanos(1);

  private LeaseStress() {}

  /** A healthy worker. It was created at time 0, and now it is one hour later. */
  public abstract static class OneWorker {
    private long time;
    final LoadBoard board = new LoadBoard(1);
    final Worker worker;

    OneWorker(WorkerSpec spec) {
      worker = new Worker(spec, 0, board, FleetSettings.DEFAULTS, Breakers.NO_LIMIT, this::time);
      worker.probed(true);
      time = HOUR;
    }

    private long time() {
      return time;
    }

    @Nullable Lease tryLease() {
      return worker.tryLease(HOUR, 100, 0, (_, _) -> {});
    }
  }

  /** A worker with a lease. */
  public abstract static class OneLease extends OneWorker {
    final Lease lease;

    OneLease() {
      super(SPEC);
      lease = requireNonNull(tryLease());
    }
  }

  /** lease.limit: a worker's limit is never exceeded. */
  @JCStressTest
  @Outcome(
      id = {"true, false, 1", "false, true, 1"},
      expect = ACCEPTABLE)
  @State
  public static class LimitOfOne extends OneWorker {
    public LimitOfOne() {
      super(SPEC.withMaxInFlight(1));
    }

    @Actor
    public void first(ZZI_Result r) {
      r.r1 = tryLease() != null;
    }

    @Actor
    public void second(ZZI_Result r) {
      r.r2 = tryLease() != null;
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = worker.inFlight();
    }
  }

  /** lease.slot-kept: a slot with a lease is not released for another worker. */
  @JCStressTest
  @Outcome(
      id = {"true, false, 1", "false, true, 0", "false, false, 0"},
      expect = ACCEPTABLE)
  @State
  public static class LeaseAndDeparture extends OneWorker {
    public LeaseAndDeparture() {
      super(SPEC);
    }

    @Actor
    public void leases(ZZI_Result r) {
      r.r1 = tryLease() != null;
    }

    @Actor
    public void leaves(ZZI_Result r) {
      worker.leave();
      r.r2 = worker.releaseSlot();
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = board.inFlight(0);
    }
  }

  /** lease.no-late-mark: a worker without a slot does not mark the slot's next owner. */
  @JCStressTest
  @Outcome(id = "0", expect = ACCEPTABLE)
  @State
  public static class LateMark extends OneWorker {
    public LateMark() {
      super(SPEC);
      worker.leave();
    }

    @Actor
    public void rests() {
      worker.rest(HOUR);
    }

    @Actor
    public void releases() {
      worker.releaseSlot();
    }

    @Arbiter
    public void after(I_Result r) {
      r.r1 = board.cell(0);
    }
  }

  /** lease.settled-once: of two settlements one counts. */
  @JCStressTest
  @Outcome(
      id = {"true, false, 0", "false, true, 0"},
      expect = ACCEPTABLE)
  @State
  public static class TwoSettlements extends OneLease {
    @Actor
    public void first(ZZI_Result r) {
      r.r1 = lease.ignored();
    }

    @Actor
    public void second(ZZI_Result r) {
      r.r2 = lease.succeeded();
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = worker.inFlight();
    }
  }

  /** lease.pending-exact: a prompt stops being pending once, by its response or its end. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = ACCEPTABLE)
  @State
  public static class ProgressAndEnd extends OneLease {
    @Actor
    public void progresses() {
      lease.progressed();
    }

    @Actor
    public void ends() {
      lease.ignored();
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = (int) worker.pendingTokens();
      r.r2 = worker.inFlight();
    }
  }

  /** lease.reserved-exact: a reservation ends once, by its dispatch or its end. */
  @JCStressTest
  @Outcome(id = "0, 0", expect = ACCEPTABLE)
  @State
  public static class DispatchAndEnd extends OneWorker {
    private final Lease lease;

    public DispatchAndEnd() {
      super(SPEC);
      lease = requireNonNull(worker.tryLease(HOUR, LeaseKind.LATER_WHOLE, 100, 0, (_, _) -> {}));
    }

    @Actor
    public void dispatches() {
      lease.dispatched();
    }

    @Actor
    public void ends() {
      lease.ignored();
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = worker.reserved();
      r.r2 = worker.inFlight();
    }
  }

  /** lease.first-token-once: the listener gets one first token, with the time of its report. */
  @JCStressTest
  @Outcome(
      id = {"1, 5", "1, 7"},
      expect = ACCEPTABLE)
  @State
  public static class TwoFirstTokens extends OneWorker implements LeaseListener {
    private final AtomicInteger tokens = new AtomicInteger();
    private volatile int after;
    private final Lease lease;

    public TwoFirstTokens() {
      super(SPEC);
      lease = requireNonNull(worker.tryLease(0, 100, 0, this));
    }

    @Override
    public boolean observes() {
      return true;
    }

    @Override
    public void answered(LeaseView lease, long at) {
      tokens.incrementAndGet();
      after = (int) at;
    }

    @Override
    public void settled(LeaseView lease, io.pointsman.engine.fleet.Outcome outcome) {}

    @Actor
    public void first() {
      lease.firstTokenAfter(5);
    }

    @Actor
    public void second() {
      lease.firstTokenAfter(7);
    }

    @Arbiter
    public void after(II_Result r) {
      r.r1 = tokens.get();
      r.r2 = after;
    }
  }

  /** breaker.probe-ends: the end of a probe permits the next, in any order of reports. */
  @JCStressTest
  @Outcome(id = "true", expect = ACCEPTABLE)
  @State
  public static class ProbeAnswerAndEnd extends OneWorker {
    private final Lease probe;

    public ProbeAnswerAndEnd() {
      super(SPEC);
      openAndTry(worker);
      probe = requireNonNull(tryLease());
    }

    @Actor
    public void answers() {
      probe.answersWell();
    }

    @Actor
    public void ends() {
      probe.ignored();
    }

    @Arbiter
    public void after(Z_Result r) {
      r.r1 = worker.eligible(HOUR);
    }
  }

  /** breaker.one-probe: a half-open breaker admits one request at a time. */
  @JCStressTest
  @Outcome(
      id = {"true, false, 1", "false, true, 1"},
      expect = ACCEPTABLE)
  @State
  public static class TwoProbes extends OneWorker {
    public TwoProbes() {
      super(SPEC);
      openAndTry(worker);
    }

    @Actor
    public void first(ZZI_Result r) {
      r.r1 = tryLease() != null;
    }

    @Actor
    public void second(ZZI_Result r) {
      r.r2 = tryLease() != null;
    }

    @Arbiter
    public void after(ZZI_Result r) {
      r.r3 = worker.inFlight();
    }
  }

  private static void openAndTry(Worker worker) {
    for (int i = 0; i < BreakerSettings.DEFAULTS.failureThreshold(); i++) {
      requireNonNull(worker.tryLease(HOUR, 0, 0, (_, _) -> {})).failed(Failure.ERROR);
    }
    worker.breaker().recovered();
  }

  /** stall.progress-clears: a worker that has just shown progress is not stalled. */
  @JCStressTest
  @Outcome(id = "false", expect = ACCEPTABLE)
  @State
  public static class ProgressAndStallCheck extends OneWorker {
    private final Lease lease;

    public ProgressAndStallCheck() {
      super(SPEC);
      lease = requireNonNull(worker.tryLease(0, 100, 0, (_, _) -> {}));
    }

    @Actor
    public void progresses() {
      lease.progressed();
    }

    @Actor
    public void checks() {
      worker.stallState().check(StallSettings.DEFAULTS, HOUR);
    }

    @Arbiter
    public void after(Z_Result r) {
      r.r1 = worker.stalled();
    }
  }

  /** stall.idle-is-no-stall: the time without requests does not count as silence. */
  @JCStressTest
  @Outcome(id = "false", expect = ACCEPTABLE)
  @State
  public static class FirstRequestAndStallCheck extends OneWorker {
    public FirstRequestAndStallCheck() {
      super(SPEC);
    }

    @Actor
    public void leases() {
      requireNonNull(tryLease());
    }

    @Actor
    public void checks() {
      worker.stallState().check(StallSettings.DEFAULTS, HOUR);
    }

    @Arbiter
    public void after(Z_Result r) {
      r.r1 = worker.stalled();
    }
  }

  /** rest.longest-wins: the end of an old rest does not end a new one. */
  @JCStressTest
  @Outcome(
      id = {"true, true, 3600000", "false, true, 3600000"},
      expect = ACCEPTABLE)
  @State
  public static class NewRestAndEndOfOld extends OneWorker {
    public NewRestAndEndOfOld() {
      super(SPEC);
      worker.rest(0);
    }

    @Actor
    public void rests() {
      worker.rest(HOUR, 429);
    }

    @Actor
    public void leases(ZZJ_Result r) {
      r.r1 = tryLease() != null;
    }

    @Arbiter
    public void after(ZZJ_Result r) {
      r.r2 = worker.merelyBusy(HOUR);
      r.r3 = TimeUnit.NANOSECONDS.toMillis(worker.restState().left(HOUR));
    }
  }

  /**
   * A first token that is reported during the settlement may reach the listener after the end.
   * Learners ignore it: their entry is gone. It is reported at most once.
   */
  @JCStressTest
  @Outcome(
      id = {"false, 0", "false, 1"},
      expect = ACCEPTABLE)
  @Outcome(id = "true, 1", expect = ACCEPTABLE_INTERESTING)
  @State
  public static class FirstTokenAndEnd extends OneWorker implements LeaseListener {
    private final Lease lease;
    private volatile boolean ended;
    private volatile boolean late;
    private final AtomicInteger tokens = new AtomicInteger();

    public FirstTokenAndEnd() {
      super(SPEC);
      lease = requireNonNull(worker.tryLease(0, 100, 0, this));
    }

    @Override
    public boolean observes() {
      return true;
    }

    @Override
    public void answered(LeaseView lease, long at) {
      late = ended;
      tokens.incrementAndGet();
    }

    @Override
    public void settled(LeaseView lease, io.pointsman.engine.fleet.Outcome outcome) {
      ended = true;
    }

    @Actor
    public void reports() {
      lease.firstToken();
    }

    @Actor
    public void ends() {
      lease.ignored();
    }

    @Arbiter
    public void after(ZI_Result r) {
      r.r1 = late;
      r.r2 = tokens.get();
    }
  }
}
