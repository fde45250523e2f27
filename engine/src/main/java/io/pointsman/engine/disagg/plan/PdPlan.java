package io.pointsman.engine.disagg.plan;

import io.pointsman.engine.fleet.Worker;
import org.jspecify.annotations.Nullable;

/** What two workers are asked for one request, and in which order. */
public sealed interface PdPlan {
  /**
   * Prefill first; its answer is read whole before decode is asked.
   *
   * @param await what else must have come before; null if nothing
   */
  record Sequential(Leg prefill, @Nullable Await await, Handover handover, Terms terms)
      implements PdPlan {}

  /**
   * Both at once. The client gets the answer to the decode request; the other one is read to its
   * end and dropped. When one fails, the other is cancelled.
   *
   * @param decode also what any other decode worker is asked where {@link Terms#bond} allows one
   */
  record Concurrent(Leg prefill, Leg decode, Terms terms) implements PdPlan {}

  /**
   * There is no plan, because something is not known of a worker; another one may do.
   *
   * @param missing what, in a few words
   */
  record Unplanned(Worker worker, String missing) implements PdPlan {}
}
