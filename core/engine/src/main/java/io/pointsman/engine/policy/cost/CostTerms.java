package io.pointsman.engine.policy.cost;

import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * The parts of {@code cost} that no configuration changes. The router uses all of them ({@link
 * #ALL}); a replay leaves single ones out to measure the worth of each (docs/evidence/ablation.md).
 *
 * @param waiting true if waiting requests raise the price of new work
 * @param decodePrice price of a millisecond of prefill for each decoding request
 * @param sameStep weight of the time that a prompt adds to a step for each request in it
 * @param decodeMemory weight of the slower decoding beside KV memory in use
 * @param memoryWait true if a prompt waits until there is KV memory for it
 * @param lateSteps true if a late step is expected to need more time
 * @param emptyCaches true if no hits are expected from engines without a prefix cache
 * @param rounding true if engines are expected to compute a part of cached prompts again
 * @param delays true if delays that prompts do not explain are learned
 * @param speeds true if each worker's own speed is learned
 * @param tieOrder true if load and cached tokens decide between equal costs; else chance
 * @param deferral true if waits are predicted for the deferral of requests
 * @param guard true if the policy falls back to least load when its predictions fail
 */
@RecordBuilder
public record CostTerms(
    boolean waiting,
    double decodePrice,
    double sameStep,
    double decodeMemory,
    boolean memoryWait,
    boolean lateSteps,
    boolean emptyCaches,
    boolean rounding,
    boolean delays,
    boolean speeds,
    boolean tieOrder,
    boolean deferral,
    boolean guard)
    implements CostTermsBuilder.With {
  /**
   * Far below 1, because the time to first token counts for more than one pause in an answer that a
   * prefill causes.
   */
  private static final double DECODE_PRICE = 0.03;

  /** Decoding in a batch slows down the request, and the others by about as much. */
  private static final double BOTH_SIDES = 2;

  /** All parts. */
  public static final CostTerms ALL =
      new CostTerms(
          true, DECODE_PRICE, 1, BOTH_SIDES, true, true, true, true, true, true, true, true, true);
}
