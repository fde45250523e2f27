package io.pointsman.app.kvtokens;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts what became of prompts whose token ids were wanted. Safe for threads. */
public final class TokenTally {
  /** What became of one. */
  public enum Result {
    /** An engine has told its ids. */
    LEARNED,
    /** An engine has answered, but not with ids that can be used: it has content beside text. */
    UNUSABLE,
    /** An engine has refused it as malformed. */
    REFUSED,
    /** An engine has not answered in time, or with an error of its own. */
    FAILED,
    /** No engine that could be asked has a route for it, or all rest after failures. */
    NOBODY,
    /** All engines that could be asked had enough questions for the time being. */
    SPARED,
    /** There was no room for it to wait. */
    DROPPED
  }

  private final Map<Result, LongAdder> counts = new EnumMap<>(Result.class);

  /** Nothing asked yet. */
  public TokenTally() {
    for (Result result : Result.values()) {
      counts.put(result, new LongAdder());
    }
  }

  void count(Result result) {
    adder(result).increment();
  }

  /** How many came to this. */
  public long of(Result result) {
    return adder(result).sum();
  }

  private LongAdder adder(Result result) {
    LongAdder adder = counts.get(result);
    if (adder == null) {
      throw new IllegalStateException(result + " has no sum");
    }
    return adder;
  }
}
