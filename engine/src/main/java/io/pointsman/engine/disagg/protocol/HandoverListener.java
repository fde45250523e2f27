package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.fleet.Worker;

/**
 * State of a protocol that learns from the engines' answers. Called by many threads at once; must
 * not block.
 */
public interface HandoverListener {
  /** A prefill worker has answered. */
  void prefilled(Worker prefill, PrefillReply reply);

  /** A decode worker has answered to the end; {@code reply} is read from its last event. */
  void decoded(PdRequest request, Worker decode, PrefillReply reply);

  /** {@code worker} has left the fleet. */
  void forget(Worker worker);
}
