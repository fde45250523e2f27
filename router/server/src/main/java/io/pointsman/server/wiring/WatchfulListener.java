package io.pointsman.server.wiring;

import io.pointsman.control.health.Prober;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.observe.logging.RefusalJournal;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Triggers probes of failing workers, logs failures of policies and refusals, and selects decisions
 * to be explained.
 */
final class WatchfulListener implements EngineListener {
  private static final Logger log = LoggerFactory.getLogger(WatchfulListener.class);

  private final EngineListener next;
  private final Prober prober;
  private final BooleanSupplier draws;
  private final RefusalJournal refusals;

  /**
   * @param draws returns true if the next decision is in the random sample
   */
  WatchfulListener(
      EngineListener next, Prober prober, BooleanSupplier draws, RefusalJournal refusals) {
    this.next = next;
    this.prober = prober;
    this.draws = draws;
    this.refusals = refusals;
  }

  @Override
  public boolean explains(RoutingRequest request) {
    return draws.getAsBoolean();
  }

  @Override
  public void routed(RoutingRequest request, LeaseView lease) {
    next.routed(request, lease);
  }

  @Override
  public void rejected(RoutingRequest request, RejectReason reason) {
    refusals.rejected(request, reason);
    next.rejected(request, reason);
  }

  @Override
  public void settled(LeaseView lease, Outcome outcome) {
    if (outcome instanceof Outcome.Failed(Failure failure, boolean _)
        && warrantsProbe(failure, lease.worker())) {
      prober.suspect(lease.worker());
    }
    next.settled(lease, outcome);
  }

  /**
   * True if a probe is useful: the connection failed, the breaker is open, or the worker has just
   * started to fail, which can mean that its engine has ended.
   */
  private static boolean warrantsProbe(Failure failure, Worker worker) {
    return failure == Failure.CONNECT
        || worker.breaker().state() == CircuitBreaker.State.OPEN
        || worker.failureSigns().startedFailing();
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    log.error("the policy failed; the request is placed by least load", failure);
    next.policyFailed(failure);
  }
}
