package io.pointsman.pd.plan;

import io.pointsman.engine.fleet.Worker;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The requests to two workers for one client request, and their order. */
public sealed interface PdPlan {
  /**
   * Prefill first. Its response is read completely before the decode request is sent.
   *
   * @param await further notifications required before decode; null if none
   */
  record Sequential(
      PdStep prefill, @Nullable NotificationWait await, Handover handover, Terms terms)
      implements PdPlan {}

  /**
   * Both requests at once. The client receives the decode response; the prefill response is read
   * and dropped. If one fails, the other is cancelled.
   *
   * @param decode the decode request; also used for another decode worker if {@link Terms#bond}
   *     permits one
   * @param promise the condition on the prefill response; null if there is none
   */
  record Concurrent(PdStep prefill, PdStep decode, Terms terms, @Nullable Promise promise)
      implements PdPlan {}

  /**
   * The condition that the prefill response must meet. If it fails, decode does not wait for
   * blocks.
   *
   * @param kept tests the condition on the response
   * @param fetch builds the decode request that fetches the blocks if the condition fails
   */
  record Promise(Predicate<PrefillReply> kept, Handover fetch) {}

  /**
   * There is no plan, because data on a worker is missing. Another worker may have a plan.
   *
   * @param missing the missing data, in a few words
   */
  record Unplanned(Worker worker, String missing) implements PdPlan {}
}
