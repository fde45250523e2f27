package io.pointsman.control.kvevents.wire;

import io.pointsman.engine.kv.KvEvent;

/**
 * Fuzz target: parses any bytes as a batch of KV events. The batch is refused, or its events
 * satisfy the contract of {@link KvEvent}. Only {@link MalformedBatch} may be thrown.
 */
public final class BatchFuzz {
  private static final int MOST_EVENTS = 4096;

  private BatchFuzz() {}

  /** Checks one input; throws if a condition is violated. */
  public static void fuzzerTestOneInput(byte[] input) {
    EventBatch batch;
    try {
      batch = BatchReader.read(input, MOST_EVENTS);
    } catch (MalformedBatch e) {
      if (String.valueOf(e.getMessage()).isBlank()) {
        throw new AssertionError("refused without a word", e);
      }
      return;
    }
    if (batch.rank() < EventBatch.NO_RANK || batch.passedOver() > MOST_EVENTS) {
      throw new AssertionError(batch.toString());
    }
    batch.events().forEach(BatchFuzz::check);
  }

  private static void check(KvEvent event) {
    if (event instanceof KvEvent.Stored stored) {
      int tokens = stored.tokens().length;
      boolean whole = tokens == (long) stored.blocks().length * stored.blockSize();
      boolean good =
          stored.blocks().length > 0
              && stored.blockSize() > 0
              && (tokens == 0 || (whole && stored.plain()));
      if (!good) {
        throw new AssertionError(stored.toString());
      }
    }
  }
}
