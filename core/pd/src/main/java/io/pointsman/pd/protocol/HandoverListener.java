package io.pointsman.pd.protocol;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.prefix.PrefixMark;
import io.pointsman.pd.plan.PdRequest;
import io.pointsman.pd.plan.PrefillReply;
import org.jspecify.annotations.Nullable;

/**
 * The state of a protocol that learns from the engines' responses. Called by many threads at once;
 * must not block.
 */
public interface HandoverListener {
  /** A prefill worker has responded. */
  void prefilled(Worker prefill, PrefillReply reply);

  /**
   * A decode worker has completed its response; {@code reply} is read from its last event.
   *
   * @param next the beginning of the next turn's prompt, including this response; null if unknown
   */
  void decoded(PdRequest request, Worker decode, PrefillReply reply, @Nullable PrefixMark next);

  /**
   * One of two concurrent requests failed by a worker's fault, or prefill did not keep the plan's
   * promise. Earlier data from {@code prefill} may be invalid.
   */
  void failedTogether(Worker prefill);

  /** {@code worker} has left the fleet. */
  void forget(Worker worker);
}
