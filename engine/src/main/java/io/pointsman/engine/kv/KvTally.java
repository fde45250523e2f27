package io.pointsman.engine.kv;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** What lookups of prompts came to, since the start. Any thread may count and read. */
public final class KvTally {
  /** What a lookup came to. */
  public enum Outcome {
    /** A worker that could be chosen held a part of the prompt. */
    HIT,
    /** None did. */
    MISS,
    /** No worker that could be chosen announces what it holds. */
    NOT_ANNOUNCED,
    /** The prompt's token ids are not known. */
    UNKNOWN_TOKENS
  }

  private final Map<Outcome, LongAdder> counts = new EnumMap<>(Outcome.class);

  KvTally() {
    for (Outcome outcome : Outcome.values()) {
      counts.put(outcome, new LongAdder());
    }
  }

  /** Counts one lookup. */
  public void count(Outcome outcome) {
    of(outcome).increment();
  }

  /** Lookups that came to {@code outcome}. */
  public long counted(Outcome outcome) {
    return of(outcome).sum();
  }

  private LongAdder of(Outcome outcome) {
    LongAdder count = counts.get(outcome);
    if (count == null) {
      throw new IllegalStateException(outcome + " has no sum");
    }
    return count;
  }
}
