package io.pointsman.engine;

import io.pointsman.engine.fleet.LeaseListener;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reports placements, first tokens, ends and departures to the learners of the policies and to the
 * engine's listener. A fault of a learner is reported to the listener and fails no request. Any
 * thread.
 */
final class LearnerReports {
  private final EngineListener listener;

  /** The learners of all policies, also of earlier ones for a later policy to take over. */
  private volatile List<Learner> learners;

  LearnerReports(EngineListener listener, List<Learner> learners) {
    this.listener = listener;
    this.learners = learners;
  }

  List<Learner> learners() {
    return learners;
  }

  void use(List<Learner> next) {
    learners = next;
  }

  /** Reports that a worker has left the fleet. */
  void left(Worker worker) {
    report(learners, learner -> learner.forget(worker));
  }

  /**
   * Reports a placement.
   *
   * @param by the policy that learns from the request
   */
  void placed(RoutingRequest request, LeaseView lease, PolicySetup by) {
    report(by.learners(), learner -> learner.placed(request, lease));
    Worker worker = lease.worker();
    if (worker.left()) {
      // The worker left after the lease was taken. The learners may have forgotten it already, so
      // they forget it again. Its slot is not reused before this lease is settled.
      left(worker);
    }
    listener.routed(request, lease);
  }

  /**
   * The listener of the request's lease.
   *
   * @param by the policy that learns from the request, to its end
   */
  LeaseListener of(RoutingRequest request, PolicySetup by) {
    return new RequestLeaseListener(request, by);
  }

  private <L extends Learner> void report(List<L> to, Consumer<L> event) {
    for (L learner : to) {
      try {
        event.accept(learner);
      } catch (RuntimeException | LinkageError e) {
        failed(e);
      }
    }
  }

  /**
   * Reports a fault of a policy or learner. A plug-in compiled against another version throws a
   * {@code LinkageError} at its first call.
   */
  void failed(Throwable fault) {
    listener.policyFailed(
        fault instanceof RuntimeException failure
            ? failure
            : new IllegalStateException("a class is not compatible: " + fault, fault));
  }

  /** Forwards the events of a lease together with its request. */
  private final class RequestLeaseListener implements LeaseListener {
    private final RoutingRequest request;
    private final PolicySetup by;

    RequestLeaseListener(RoutingRequest request, PolicySetup by) {
      this.request = request;
      this.by = by;
    }

    @Override
    public boolean observes() {
      for (AnswerLearner learner : by.answerLearners()) {
        if (learner.observes(request)) {
          return true;
        }
      }
      return false;
    }

    @Override
    public void answered(LeaseView lease, long at) {
      report(by.answerLearners(), learner -> learner.answered(request, lease, at));
    }

    @Override
    public void settled(LeaseView lease, Outcome outcome) {
      report(by.learners(), learner -> learner.ended(request, lease, outcome));
      listener.settled(lease, outcome);
    }
  }
}
