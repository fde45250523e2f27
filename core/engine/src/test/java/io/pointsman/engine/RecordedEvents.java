package io.pointsman.engine;

import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** An engine listener that records its calls. */
public final class RecordedEvents implements EngineListener {
  final List<PickReason> routed = new CopyOnWriteArrayList<>();
  final List<RejectReason> rejected = new CopyOnWriteArrayList<>();
  final List<Outcome> settled = new CopyOnWriteArrayList<>();
  final List<RuntimeException> failures = new CopyOnWriteArrayList<>();

  /** Thrown by {@link #routed}, against its contract; null for none. */
  @Nullable RuntimeException defect;

  @Override
  public void routed(RoutingRequest request, LeaseView lease) {
    if (defect != null) {
      throw defect;
    }
    routed.add(request.result().reason());
  }

  @Override
  public void rejected(RoutingRequest request, RejectReason reason) {
    rejected.add(reason);
  }

  @Override
  public void settled(LeaseView lease, Outcome outcome) {
    settled.add(outcome);
  }

  @Override
  public void policyFailed(RuntimeException failure) {
    failures.add(failure);
  }
}
