package io.pointsman.control.kvtokens;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/** Counts the results of token-id queries. Thread-safe. */
public final class TokenTally {
  /** Result for one prompt. */
  public enum Result {
    /** An engine returned its token ids. */
    LEARNED,
    /** An engine's response had no usable ids, for example because of content besides text. */
    UNUSABLE,
    /** An engine refused the prompt as malformed. */
    REFUSED,
    /** An engine did not respond in time, or responded with an error of its own. */
    FAILED,
    /** No engine has a route for it, or all engines rest after failures. */
    NO_ENGINE,
    /** All engines have reached their share of queries for the moment. */
    LIMITED,
    /** The queue was full. */
    DROPPED
  }

  private final Map<Result, LongAdder> counts = new EnumMap<>(Result.class);

  public TokenTally() {
    for (Result result : Result.values()) {
      counts.put(result, new LongAdder());
    }
  }

  void count(Result result) {
    adder(result).increment();
  }

  /** Number of prompts with this result. */
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
