package io.pointsman.engine.prefix;

/**
 * The indexed prefix lengths: every length up to 16 blocks, then eight per doubling. A common
 * prefix is recognised to at least 8/9 of its length. The entries for a prompt grow with the
 * logarithm of its length: 48 for 256 blocks, 88 for 8,192.
 */
public final class IndexedLengths {
  private static final int DENSE_BITS = 4;
  private static final int DENSE = 1 << DENSE_BITS;
  private static final int OCTAVE_BITS = 3;
  private static final int OCTAVE = 1 << OCTAVE_BITS;

  private IndexedLengths() {}

  /**
   * Returns the length of a milestone in blocks.
   *
   * @param ordinal at least 0
   */
  public static int blocks(int ordinal) {
    if (ordinal < DENSE) {
      return ordinal + 1;
    }
    int beyond = ordinal - DENSE;
    return (DENSE + 2 + 2 * (beyond & (OCTAVE - 1))) << (beyond >>> OCTAVE_BITS);
  }

  /** Returns the number of milestones with at most {@code blocks} blocks. */
  public static int upTo(int blocks) {
    if (blocks <= DENSE) {
      return blocks;
    }
    int octave = Integer.SIZE - 1 - Integer.numberOfLeadingZeros((blocks - 1) >>> DENSE_BITS);
    return DENSE + (octave << OCTAVE_BITS) + (blocks >>> (octave + 1)) - OCTAVE;
  }
}
