package io.pointsman.app.kvevents.wire;

/**
 * What CPython, from 3.8 on, makes of {@code hash(tuple(tokens))} in 64 bits: xxHash without its
 * last round (Objects/tupleobject.c), which no seed goes into.
 */
final class TupleHash {
  private static final long PRIME_1 = 0x9E3779B185EBCA87L;
  private static final long PRIME_2 = 0xC2B2AE3D27D4EB4FL;
  private static final long PRIME_5 = 0x27D4EB2F165667C5L;

  /** Stands for -1, which is an error there. */
  private static final long INSTEAD_OF_ERROR = 1_546_275_796;

  private TupleHash() {}

  /**
   * The hash of the first items.
   *
   * @param items not negative, so that each is its own hash
   * @param count how many of them
   */
  static long of(int[] items, int count) {
    long hash = PRIME_5;
    for (int i = 0; i < count; i++) {
      hash = Long.rotateLeft(hash + items[i] * PRIME_2, 31) * PRIME_1;
    }
    hash += count ^ (PRIME_5 ^ 3_527_539);
    return hash == -1 ? INSTEAD_OF_ERROR : hash;
  }
}
