package io.pointsman.control.kvevents.wire;

import io.pointsman.engine.kv.KvEvent;
import java.util.List;

/**
 * One batch of KV events.
 *
 * @param seconds creation time by the engine's clock, in seconds since 1970; 0 if missing
 * @param rank data-parallel rank; {@link #NO_RANK} if missing
 * @param events events in their order
 * @param passedOver number of events of unknown kinds, which are not in {@code events}
 * @param positionless true if blocks are named only by their own tokens; they match no prompt
 */
public record EventBatch(
    double seconds, int rank, List<KvEvent> events, int passedOver, boolean positionless) {
  /** The {@link #rank} of a batch without a rank. */
  public static final int NO_RANK = -1;

  public EventBatch {
    events = List.copyOf(events);
  }
}
