package io.pointsman.engine.fleet;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.CircuitBreaker.TrialTurn;
import java.time.Duration;
import org.jetbrains.lincheck.datastructures.BooleanGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;

/**
 * breaker.linearizable: every concurrent run has the results of the same operations one after the
 * other. The model is the breaker itself without concurrency. All operations happen at one time at
 * which an open breaker admits a probe.
 */
public final class CircuitBreakerLincheck {
  private static final long NOW = Duration.ofHours(1).toNanos();

  private final CircuitBreaker breaker =
      new CircuitBreaker(
          new BreakerSettings(true, 2, 2, Duration.ofSeconds(60), Duration.ofSeconds(120)),
          Breakers::opens,
          () -> {});

  /** Begins half-open with a probe, because random operations rarely lead there. */
  public CircuitBreakerLincheck() {
    breaker.failed(false, Failure.CONNECT, 0);
    breaker.failed(false, Failure.CONNECT, 0);
    breaker.admit(NOW);
  }

  @Operation
  public boolean admits() {
    return breaker.admits(NOW);
  }

  @Operation
  public TrialTurn admit() {
    return breaker.admit(NOW);
  }

  @Operation
  public State state() {
    return breaker.state();
  }

  @Operation
  public void succeeded(@Param(gen = BooleanGen.class) boolean probe) {
    breaker.succeeded(probe);
  }

  /** Opens it now, so it admits nothing. */
  @Operation
  public void failed(@Param(gen = BooleanGen.class) boolean probe) {
    breaker.failed(probe, Failure.ERROR, NOW);
  }

  /** Opened it an hour ago, so it admits a probe. */
  @Operation
  public void failedBefore(@Param(gen = BooleanGen.class) boolean probe) {
    breaker.failed(probe, Failure.CONNECT, 0);
  }

  @Operation
  public void ignored(@Param(gen = BooleanGen.class) boolean probe) {
    breaker.ignored(probe);
  }

  @Operation
  public void reachable() {
    breaker.reachable();
  }

  @Operation
  public void recovered() {
    breaker.recovered();
  }
}
