package io.pointsman.control.kvevents.wire;

/**
 * CPython's {@code hash(tuple(tokens))} in 64 bits, version 3.8 and later: xxHash without its last
 * round (Objects/tupleobject.c). It uses no seed.
 */
final class TupleHash {
  private static final long PRIME_1 = 0x9E3779B185EBCA87L;
  private static final long PRIME_2 = 0xC2B2AE3D27D4EB4FL;
  private static final long PRIME_5 = 0x27D4EB2F165667C5L;

  /** Replaces -1, which means an error in CPython. */
  private static final long INSTEAD_OF_ERROR = 1_546_275_796;

  private TupleHash() {}

  /**
   * The hash of the first items.
   *
   * @param items not negative; each is its own hash
   * @param count number of items
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
