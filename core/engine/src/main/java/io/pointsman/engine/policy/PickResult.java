package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.kv.KvTally;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.util.EnumMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The reason for a choice, and the policy's expectations of it. A picker sets one with {@link
 * RoutingRequest#picked}. Immutable.
 *
 * @param matchedBlocks routing-key blocks expected on the chosen worker; 0 if the policy does not
 *     determine them
 * @param knownBlocks routing-key blocks expected on the worker that holds most; at least {@code
 *     matchedBlocks}
 * @param expectsHits true if the policy determined the cached part of the prompt
 * @param lookup result of the lookup in the index of KV events; null if there was none
 * @param predictedMillis predicted time to first token in milliseconds from the pick; NaN without a
 *     prediction
 * @param plainMillis time to first token predicted for least load with cached tokens as
 *     tie-breaker, in milliseconds from the pick; NaN without a prediction or a choice
 * @param stepMillis time that the prompt adds on the chosen worker to full steps with other
 *     prompts, in milliseconds. NaN without a prediction
 * @param waitMillis predicted minimum wait for other requests over all workers, in milliseconds; 0
 *     if a worker has room. NaN if there is no prediction, or if the choice was not made by time:
 *     the request must not be deferred
 */
@RecordBuilder
public record PickResult(
    PickReason reason,
    int matchedBlocks,
    int knownBlocks,
    boolean expectsHits,
    KvTally.@Nullable LookupOutcome lookup,
    double predictedMillis,
    double plainMillis,
    double stepMillis,
    double waitMillis)
    implements PickResultBuilder.With {
  private static final Map<PickReason, PickResult> BY_REASON = new EnumMap<>(PickReason.class);

  static {
    for (PickReason reason : PickReason.values()) {
      BY_REASON.put(reason, expecting(reason, 0, 0, false));
    }
  }

  public PickResult {
    requireNonNull(reason, "reason");
  }

  /** A choice independent of prefixes; the same object for each call with one reason. */
  public static PickResult of(PickReason reason) {
    return requireNonNull(BY_REASON.get(reason), "reason");
  }

  /**
   * @param matchedBlocks routing-key blocks expected on the chosen worker
   */
  public static PickResult of(PickReason reason, int matchedBlocks) {
    return of(reason, matchedBlocks, matchedBlocks);
  }

  /**
   * @param matchedBlocks routing-key blocks expected on the chosen worker
   * @param knownBlocks routing-key blocks expected on the worker that holds most
   */
  public static PickResult of(PickReason reason, int matchedBlocks, int knownBlocks) {
    return expecting(reason, matchedBlocks, knownBlocks, true);
  }

  private static PickResult expecting(
      PickReason reason, int matchedBlocks, int knownBlocks, boolean expectsHits) {
    return new PickResult(
        reason,
        matchedBlocks,
        knownBlocks,
        expectsHits,
        null,
        Double.NaN,
        Double.NaN,
        Double.NaN,
        Double.NaN);
  }

  /** The same choice for another reason, which does not depend on the wait. */
  public PickResult instead(PickReason reason) {
    return goesAtOnce().withReason(reason);
  }

  /** The same choice, independent of the wait. */
  public PickResult goesAtOnce() {
    return Double.isNaN(waitMillis) ? this : withWaitMillis(Double.NaN);
  }
}
