package io.pointsman.engine.prefix;

/**
 * Eight consecutive indexed lengths of a prompt, counted from its beginning; the last group may
 * have fewer. They are stored together under the hash of the first length.
 *
 * @param prefix the prompt
 * @param count number of its blocks that are used
 * @param number index of the group, starting at 0
 */
record Group(PrefixBlocks prefix, int count, int number) {
  static final int LENGTHS = 8;

  /** Index of the length of {@code blocks} blocks among all indexed lengths. */
  static int ordinal(int blocks) {
    return IndexedLengths.upTo(blocks - 1);
  }

  /** Returns the hash under which the group of an indexed length is stored. */
  static long head(PrefixBlocks prefix, int blocks) {
    int ordinal = ordinal(blocks);
    int first = ordinal & -LENGTHS;
    return prefix.hashes()[(first == ordinal ? blocks : IndexedLengths.blocks(first)) - 1];
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
    return prefix.hashes()[Math.min(count, IndexedLengths.blocks(ordinal)) - 1];
  }
}
