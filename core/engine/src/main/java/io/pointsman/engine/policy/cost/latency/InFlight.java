package io.pointsman.engine.policy.cost.latency;

import io.pointsman.engine.prefix.PrefixBlocks;

/** The prefill of one request on one worker. Guarded by the worker model's lock. */
public final class InFlight {
  final PrefixBlocks prefix;
  final int tokens;
  final long placedAt;
  final Expectation expected;

  /**
   * Cached tokens that an ended request has computed. The rest of {@link #reused} is computed by
   * requests in flight.
   */
  final int certain;

  /**
   * Tokens that this request need not compute. It starts as the expected cache hit and shrinks if a
   * request ends that should have computed some of them.
   */
  int reused;

  /** Start of the worker's busy period in which the request was placed. */
  long busySince;

  /** Uncached tokens that earlier steps of the engine have computed. */
  int done;

  /** Uncached tokens in the current step; 0 if the request waits for a later step. */
  int inStep;

  /** True if the last ended step has computed the rest of the prompt. */
  boolean finishing;

  /** True if the prompt is computed, by observation or by assumption. */
  boolean computed;

  /** True if the first token was observed. */
  boolean answered;

  /**
   * @param tokens length of the prompt
   * @param reused tokens that the worker has cached, or computes for an earlier request
   * @param certain the part of {@code reused} that an ended request has computed
   */
  public InFlight(
      PrefixBlocks prefix,
      int tokens,
      int reused,
      int certain,
      long placedAt,
      Expectation expected) {
    this.prefix = prefix;
    this.tokens = tokens;
    this.reused = reused;
    this.certain = certain;
    this.placedAt = placedAt;
    this.expected = expected;
  }

  public Expectation expected() {
    return expected;
  }

  /** Returns true if the prompt is computed, by observation or by assumption. */
  public boolean computed() {
    return computed;
  }

  /** Returns true if the first token was observed. */
  public boolean answered() {
    return answered;
  }

  /** Returns the expected time of the first token. */
  long dueAt() {
    return placedAt + (long) (expected.ttft() * 1e6);
  }

  int uncached() {
    return tokens - reused;
  }

  /** Returns the uncached tokens that are not computed yet, with those of the current step. */
  int left() {
    return Math.max(0, uncached() - done);
  }

  /** Returns the length in tokens of the common prefix with another prompt. */
  int sharedWith(InFlight other) {
    long[] own = prefix.hashes();
    long[] others = other.prefix.hashes();
    int shared = 0;
    int most = Math.min(prefix.count(), other.prefix.count());
    while (shared < most) {
      int middle = (shared + most + 1) >>> 1;
      if (own[middle - 1] == others[middle - 1]) {
        shared = middle;
      } else {
        most = middle - 1;
      }
    }
    return (int) (tokens * prefix.ratio(shared));
  }
}
