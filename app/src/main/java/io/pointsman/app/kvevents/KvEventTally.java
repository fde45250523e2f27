package io.pointsman.app.kvevents;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts what comes of KV events. Safe for use by any number of threads. */
public final class KvEventTally {
  /** What is counted, by its name in metrics. */
  public enum Count {
    /** Batches that were taken. */
    BATCHES,
    /** Blocks stored, event by event. */
    STORED,
    /** Blocks removed, event by event. */
    REMOVED,
    /** Events that say that everything is gone. */
    CLEARED,
    /** Events of kinds that are not known. */
    PASSED_OVER,
    /** Times that batches were missing. */
    GAPS,
    /** Replays that brought all that was missing. */
    REPLAYS_COMPLETE,
    /** Replays that brought a part, because the publisher had forgotten the rest. */
    REPLAYS_PARTIAL,
    /** Replays that brought nothing, or broke off. */
    REPLAYS_FAILED,
    /** Times that a cache's state was dropped since batches are missing for good. */
    RESETS_GAP,
    /** Times that it was dropped since the publisher has started anew, or may have. */
    RESETS_RESTART,
    /** Times that it was dropped since a batch could not be read. */
    RESETS_MALFORMED,
    /** Times that it was dropped since the router failed to take a batch in. */
    RESETS_DEFECT,
    /** Times that it was dropped since the source is gone. */
    RESETS_GONE,
    /** Messages and batches that could not be read. */
    MALFORMED,
    /** Batches of another rank than the source's. */
    WRONG_RANK,
    /** Batches that had come before. */
    REPEATED,
    /** Connections to publishers. */
    CONNECTS
  }

  private final Map<Count, LongAdder> counts = new EnumMap<>(Count.class);

  public KvEventTally() {
    for (Count each : Count.values()) {
      counts.put(each, new LongAdder());
    }
  }

  void add(Count what, long more) {
    adder(what).add(more);
  }

  void add(Count what) {
    adder(what).increment();
  }

  /** How often {@code what} has happened. */
  public long of(Count what) {
    return adder(what).sum();
  }

  @SuppressWarnings("NullAway") // every constant has one
  private LongAdder adder(Count what) {
    return counts.get(what);
  }
}
