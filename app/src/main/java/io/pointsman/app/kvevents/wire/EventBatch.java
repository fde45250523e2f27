package io.pointsman.app.kvevents.wire;

import io.pointsman.engine.kv.KvEvent;
import java.util.List;

/**
 * What an engine announced at once.
 *
 * @param seconds when it was put together, since 1970, by the engine's clock; 0 if it is not said
 * @param rank the data-parallel rank that it is about; {@link #NO_RANK} if it is not said
 * @param events in their order
 * @param passedOver events of kinds that are not known, which are not among {@code events}
 * @param positionless whether blocks are named by their own tokens alone, whatever they follow, so
 *     that they match no prompt
 */
public record EventBatch(
    double seconds, int rank, List<KvEvent> events, int passedOver, boolean positionless) {
  /** The {@link #rank} of a batch that names none. */
  public static final int NO_RANK = -1;

  public EventBatch {
    events = List.copyOf(events);
  }
}
