package io.pointsman.engine.fleet;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.infra.results.LI_Result;
import org.openjdk.jcstress.infra.results.LL_Result;
import org.openjdk.jcstress.infra.results.LZ_Result;
import org.openjdk.jcstress.infra.results.ZZ_Result;

/**
 * The circuit breaker, which is linearizable ({@link CircuitBreakerLincheck}). The suites here
 * check its counters, its mark on the load board and its memory order.
 */
public final class CircuitBreakerStress {
  private static final long LATER = Duration.ofHours(1).toNanos();
  private static final BreakerSettings AT_TWO =
      new BreakerSettings(true, 2, 1, Duration.ofSeconds(60), Duration.ofSeconds(120));

  private CircuitBreakerStress() {}

  /** breaker.failures-counted: concurrent failures are all counted, and open it once. */
  @JCStressTest
  @Outcome(id = "OPEN, 1", expect = ACCEPTABLE)
  @org.openjdk.jcstress.annotations.State
  public static class TwoFailures {
    private final CircuitBreaker breaker = new CircuitBreaker(AT_TWO, Breakers::opens, () -> {});

    @Actor
    public void first() {
      breaker.failed(false, Failure.ERROR, 0);
    }

    @Actor
    public void second() {
      breaker.failed(false, Failure.ERROR, 0);
    }

    @Arbiter
    public void after(LI_Result r) {
      r.r1 = breaker.state();
      r.r2 = (int) breaker.opened();
    }
  }

  /** breaker.one-probe: of two requests after the open time, one is the probe. */
  @JCStressTest
  @Outcome(
      id = {"PROBE, REFUSED", "REFUSED, PROBE"},
      expect = ACCEPTABLE)
  @org.openjdk.jcstress.annotations.State
  public static class TwoAdmissions {
    private final CircuitBreaker breaker = new CircuitBreaker(AT_TWO, Breakers::opens, () -> {});

    public TwoAdmissions() {
      breaker.failed(false, Failure.CONNECT, 0);
      breaker.failed(false, Failure.CONNECT, 0);
    }

    @Actor
    public void first(LL_Result r) {
      r.r1 = breaker.admit(LATER);
    }

    @Actor
    public void second(LL_Result r) {
      r.r2 = breaker.admit(LATER);
    }
  }

  /** breaker.opening-known: a reader that finds it open finds the time of this opening. */
  @JCStressTest
  @Outcome(id = "CLOSED, true", expect = ACCEPTABLE)
  @Outcome(id = "OPEN, false", expect = ACCEPTABLE)
  @org.openjdk.jcstress.annotations.State
  public static class OpeningAndReader {
    private final CircuitBreaker breaker = new CircuitBreaker(AT_TWO, Breakers::opens, () -> {});

    public OpeningAndReader() {
      breaker.failed(false, Failure.ERROR, LATER);
    }

    @Actor
    public void opens() {
      breaker.failed(false, Failure.ERROR, LATER);
    }

    @Actor
    public void reads(LZ_Result r) {
      State state = breaker.state();
      r.r1 = state;
      r.r2 = state == State.CLOSED || breaker.admits(LATER);
    }
  }

  /** breaker.mark-matches: after concurrent changes the board's mark shows the last state. */
  @JCStressTest
  @Outcome(
      id = {"true, true", "false, false"},
      expect = ACCEPTABLE)
  @org.openjdk.jcstress.annotations.State
  public static class MarkOfLastState {
    private final LoadBoard board = new LoadBoard(1);
    private final Worker worker;

    public MarkOfLastState() {
      FleetSettings defaults = FleetSettings.DEFAULTS;
      FleetSettings settings = new FleetSettings(1, defaults.health(), AT_TWO, defaults.stall());
      worker =
          new Worker(WorkerSpec.of("http://w"), 0, board, settings, Breakers.NO_LIMIT, () -> LATER);
      worker.breaker().failed(false, Failure.ERROR, 0);
      worker.breaker().failed(false, Failure.ERROR, 0);
      worker.breaker().admit(LATER);
    }

    @Actor
    public void closes() {
      worker.breaker().succeeded(true);
    }

    @Actor
    public void opens() {
      worker.breaker().failed(false, Failure.ERROR, LATER);
      worker.breaker().failed(false, Failure.ERROR, LATER);
    }

    @Arbiter
    public void after(ZZ_Result r) {
      r.r1 = worker.breaker().state() != State.CLOSED;
      r.r2 = LoadBoard.has(board.cell(0), LoadBoard.Mark.BREAKER);
    }
  }
}
