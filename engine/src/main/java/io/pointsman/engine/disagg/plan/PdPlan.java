package io.pointsman.engine.disagg.plan;

import io.pointsman.engine.fleet.Worker;
import java.util.function.Predicate;
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
   * @param promise what decode relies on; null if prefill's answer says nothing of it
   */
  record Concurrent(Leg prefill, Leg decode, Terms terms, @Nullable Promise promise)
      implements PdPlan {}

  /**
   * That a prefill which is asked together with decode will do its part, which its answer tells.
   * Where it does not, decode waits for nothing.
   *
   * @param kept whether it does, by its answer
   * @param fetch how a decode worker gets what prefill holds by that answer, if it does not
   */
  record Promise(Predicate<PrefillReply> kept, Handover fetch) {}

  /**
   * There is no plan, because something is not known of a worker; another one may do.
   *
   * @param missing what, in a few words
   */
  record Unplanned(Worker worker, String missing) implements PdPlan {}
}
