package io.pointsman.engine.prefix;

/**
 * Eight indexed lengths of a prompt that follow each other, counted from its beginning; the last
 * ones of a prompt may be fewer. They are kept side by side, found by the hash of the first.
 *
 * @param prefix the prompt
 * @param count blocks of it that are meant
 * @param number which group: 0 for the first
 */
record Group(PrefixBlocks prefix, int count, int number) {
  static final int LENGTHS = 8;

  /** The number of the indexed length of {@code blocks} blocks, of all indexed lengths. */
  static int ordinal(int blocks) {
    return Milestones.upTo(blocks - 1);
  }

  /** The hash that the group is found by in which a length of a prompt lies. */
  static long head(PrefixBlocks prefix, int blocks) {
    int ordinal = ordinal(blocks);
    int first = ordinal & -LENGTHS;
    return prefix.hashes()[(first == ordinal ? blocks : Milestones.blocks(first)) - 1];
  }

  static int position(int blocks) {
    return ordinal(blocks) & (LENGTHS - 1);
  }

  int size() {
    return Math.min(LENGTHS, ordinal(count) + 1 - number * LENGTHS);
  }

  long head() {
    return hash(0);
  }

  long hash(int position) {
    int ordinal = number * LENGTHS + position;
    return prefix.hashes()[Math.min(count, Milestones.blocks(ordinal)) - 1];
  }
}
