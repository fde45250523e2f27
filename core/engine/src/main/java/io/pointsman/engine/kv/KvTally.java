package io.pointsman.engine.kv;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counters of prompt lookups by result, since the start. Any thread may count and read. */
public final class KvTally {
  /** The result of a lookup. */
  public enum LookupOutcome {
    /** An eligible worker has a part of the prompt in its cache. */
    HIT,
    /** No eligible worker has a part of the prompt in its cache. */
    MISS,
    /** No eligible worker announces its cache. */
    NOT_ANNOUNCED,
    /** The prompt's token ids are not known. */
    UNKNOWN_TOKENS
  }

  private final Map<LookupOutcome, LongAdder> counts = new EnumMap<>(LookupOutcome.class);

  KvTally() {
    for (LookupOutcome outcome : LookupOutcome.values()) {
      counts.put(outcome, new LongAdder());
    }
  }

  /** Counts one lookup. */
  public void count(LookupOutcome outcome) {
    of(outcome).increment();
  }

  /** Number of lookups with this result. */
  public long counted(LookupOutcome outcome) {
    return of(outcome).sum();
  }

  private LongAdder of(LookupOutcome outcome) {
    LongAdder count = counts.get(outcome);
    if (count == null) {
      throw new IllegalStateException(outcome + " has no sum");
    }
    return count;
  }
}
