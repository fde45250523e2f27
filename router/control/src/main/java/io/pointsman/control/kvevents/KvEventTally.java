package io.pointsman.control.kvevents;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counters of KV events. Thread-safe. */
public final class KvEventTally {
  /** Counters, by their names in metrics. */
  public enum Count {
    /** Batches accepted. */
    BATCHES,
    /** Events about stored blocks. */
    STORED,
    /** Events about removed blocks. */
    REMOVED,
    /** Events about a cleared cache. */
    CLEARED,
    /** Events of unknown kinds. */
    PASSED_OVER,
    /** Occurrences of missing batches. */
    GAPS,
    /** Replays that brought all missing batches. */
    REPLAYS_COMPLETE,
    /** Replays that brought a part, because the publisher no longer had the rest. */
    REPLAYS_PARTIAL,
    /** Replays that brought nothing or failed midway. */
    REPLAYS_FAILED,
    /** State of a cache discarded because missing batches could not be replayed. */
    RESETS_GAP,
    /** State discarded because the publisher has restarted or may have restarted. */
    RESETS_RESTART,
    /** State discarded because a batch was unreadable. */
    RESETS_MALFORMED,
    /** State discarded because the router failed to process a batch. */
    RESETS_DEFECT,
    /** State discarded because the source is gone. */
    RESETS_GONE,
    /** Unreadable messages and batches. */
    MALFORMED,
    /** Batches of another rank than the source's. */
    WRONG_RANK,
    /** Batches received more than once. */
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

  /** The value of a counter. */
  public long of(Count what) {
    return adder(what).sum();
  }

  @SuppressWarnings("NullAway") // every constant has an adder
  private LongAdder adder(Count what) {
    return counts.get(what);
  }
}
