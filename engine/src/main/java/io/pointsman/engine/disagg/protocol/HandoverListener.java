package io.pointsman.engine.disagg.protocol;

import io.pointsman.engine.disagg.plan.PdRequest;
import io.pointsman.engine.disagg.plan.PrefillReply;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import org.jspecify.annotations.Nullable;

/**
 * State of a protocol that learns from the engines' answers. Called by many threads at once; must
 * not block.
 */
public interface HandoverListener {
  /** A prefill worker has answered. */
  void prefilled(Worker prefill, PrefillReply reply);

  /**
   * A decode worker has answered to the end; {@code reply} is read from its last event.
   *
   * @param next what the next turn's prompt begins with, this answer included; null if that is not
   *     known
   */
  void decoded(PdRequest request, Worker decode, PrefillReply reply, @Nullable PrefixMark next);

  /**
   * Of two requests sent at once one has failed, by a worker's fault, or prefill has answered
   * otherwise than decode relied on: what {@code prefill} told of itself may no longer be true.
   */
  void failedTogether(Worker prefill);

  /** {@code worker} has left the fleet. */
  void forget(Worker worker);
}
