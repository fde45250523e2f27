package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.cost.CostEstimator.Expectation;
import io.pointsman.engine.prefix.PrefixBlocks;

/** One request on one worker from its placement to its end. Guarded by its worker's lock. */
final class InFlight {
  final PrefixBlocks prefix;
  final int tokens;

  /**
   * Tokens that it need not compute: as expected when it was placed, less what another one was to
   * compute that was given up.
   */
  int held;

  final long placedAt;

  final Expectation expected;

  final HitLedger.Prospect prospect;

  /**
   * Tokens of {@link #held} that requests had left which had ended. The rest was on its way: an
   * engine need not find what it computes in the same step.
   */
  int certain;

  /**
   * Tokens that requests placed there before have left, by the model of its cache, and whose
   * announcements had come when it was placed, if they were ever to come; 0 on a worker that
   * announces nothing.
   */
  int announceable;

  /** How much of its prompt its worker's cache model has taken in for it. */
  int taken;

  /** Since when its worker has had something to compute, as of its placement. */
  long busySince;

  /** Tokens of its prompt that earlier requests on its worker have had too. */
  int shared;

  /** How many of them its worker was expected to have cached or on the way. */
  int cached;

  /** Uncached tokens that earlier steps of the engine have computed. */
  int done;

  /** Uncached tokens that the present step computes; 0 while it waits for a later step. */
  int inStep;

  /** Whether the step that ended last has computed the rest of its prompt. */
  boolean finishing;

  /** Whether its prompt is computed, as heard or as assumed. */
  boolean computed;

  /** Whether its first token is to be told of. */
  boolean awaited;

  /** Whether its first token was told of. */
  boolean heard;

  /** At its end: whether its worker has started anew. */
  boolean emptied;

  /** Whether what it found held had been used too short a while before to be evicted since. */
  boolean usedOfLate;

  /** At its end: whether its worker may have evicted what it found held. */
  boolean mayBeEvicted;

  InFlight(
      PrefixBlocks prefix,
      int tokens,
      int held,
      HitLedger.Prospect prospect,
      long placedAt,
      Expectation expected) {
    this.prefix = prefix;
    this.tokens = tokens;
    this.held = held;
    this.prospect = prospect;
    this.placedAt = placedAt;
    this.expected = expected;
  }

  /** When its first token is expected. */
  long dueAt() {
    return placedAt + (long) (expected.ttft() * 1e6);
  }

  int uncached() {
    return tokens - held;
  }

  /** Uncached tokens that have yet to be computed, those of the present step included. */
  int left() {
    return Math.max(0, uncached() - done);
  }

  /** Tokens of its prompt that another's begins with too. */
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
