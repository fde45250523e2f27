package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.latency.PrefillState;
import io.pointsman.engine.policy.cost.latency.WorkerPhase;
import io.soabase.recordbuilder.core.RecordBuilder;

/**
 * The state of one worker at its last event, as picks read it. Immutable.
 *
 * @param kind the models of its kind
 * @param prefill the prompts without a first token
 * @param assumesAt when the next prompt without observed first token counts as computed; in ticker
 *     nanoseconds
 * @param decoding number of requests that have their first token
 * @param util fraction of the KV memory that decoding reads, 0 to 1
 * @param room tokens of KV memory that a further prompt can take without waiting
 * @param roomReported true if the engine reports the size of its memory; else it is assumed
 * @param speed step time of this worker as a multiple of the usual one of its kind
 * @param tokensPerMilli tokens of KV memory that become free per millisecond
 * @param keepsNothing true if the engine seems to have no prefix cache
 */
@RecordBuilder
public record WorkerState(
    KindModel kind,
    PrefillState prefill,
    long assumesAt,
    int decoding,
    double util,
    double room,
    boolean roomReported,
    double speed,
    double tokensPerMilli,
    boolean keepsNothing)
    implements WorkerStateBuilder.With {
  WorkerPhase phase() {
    if (prefill.tokens() > 0) {
      return WorkerPhase.PREFILLING;
    }
    return decoding > 0 ? WorkerPhase.DECODING : WorkerPhase.FREE;
  }
}
