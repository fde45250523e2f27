package io.pointsman.stress;

import io.pointsman.engine.choice.ExternalLeasesLincheck;
import io.pointsman.engine.fleet.CircuitBreakerLincheck;
import io.pointsman.engine.policy.session.SessionTableLincheck;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.util.LoggingLevel;

/**
 * Runs the Lincheck suites: {@code Linearizability SECONDS}. Each suite gets an equal part of the
 * time, for random scenarios of two threads. Lincheck runs each scenario with different thread
 * switches. Ends with 1 if a result has no sequential order.
 */
public final class Linearizability {
  private static final int SWITCHES = 200;

  /** Scenarios of the first round. Each round has twice as many, which begin with the same. */
  private static final int FIRST = 4;

  private static final List<Class<?>> SUITES =
      List.of(
          CircuitBreakerLincheck.class, ExternalLeasesLincheck.class, SessionTableLincheck.class);

  private Linearizability() {}

  /** Runs all suites. */
  public static void main(String[] args) {
    long nanos = TimeUnit.SECONDS.toNanos(Long.parseLong(args[0])) / SUITES.size();
    boolean failed = false;
    for (Class<?> suite : SUITES) {
      failed |= !passes(suite, nanos);
    }
    System.exit(failed ? 1 : 0);
  }

  private static boolean passes(Class<?> suite, long nanos) {
    try {
      long begun = System.nanoTime();
      int scenarios = FIRST;
      check(suite, scenarios);
      long last = System.nanoTime() - begun;
      // The next round takes about twice as long as the last one.
      while (System.nanoTime() - begun + 2 * last < nanos) {
        long before = System.nanoTime();
        scenarios *= 2;
        check(suite, scenarios);
        last = System.nanoTime() - before;
      }
      System.out.println(suite.getSimpleName() + ": " + scenarios + " scenarios passed");
      return true;
    } catch (LincheckAssertionError e) {
      System.out.println(suite.getSimpleName() + ": failed\n" + e.getMessage());
      return false;
    }
  }

  private static void check(Class<?> suite, int scenarios) {
    new ModelCheckingOptions()
        .threads(2)
        .actorsBefore(1)
        .actorsPerThread(2)
        .actorsAfter(1)
        .iterations(scenarios)
        .invocationsPerIteration(SWITCHES)
        .logLevel(LoggingLevel.ERROR)
        .check(suite);
  }
}
