package io.pointsman.app.kvevents.wire;

import io.pointsman.engine.kv.KvEvent;

/**
 * Fuzz target: reads any bytes as a batch of KV events. What must hold: it is refused, or what it
 * says keeps the promises of {@link KvEvent}; nothing but a {@link MalformedBatch} is ever thrown.
 */
public final class BatchFuzz {
  private static final int MOST_EVENTS = 4096;

  private BatchFuzz() {}

  /** One input; throws if anything does not hold. */
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
