package io.pointsman.engine.prefix;

/**
 * Indexed lengths of a prompt that follow each other, by their hashes. Whoever keeps some extends
 * it, so that what is known of them lies in one object.
 */
public class Lengths {
  /** Chained hash of each length; not to be changed. */
  public final long[] hashes;

  /** Which of the prompt's indexed lengths the first one is. */
  protected final int first;

  /** Hash of the first length of the group in which that one lies. */
  private final long head;

  /**
   * @param prefix the prompt
   * @param blocks length of the first of them
   * @param hashes of all of them
   */
  protected Lengths(PrefixBlocks prefix, int blocks, long[] hashes) {
    this(hashes, Group.ordinal(blocks), Group.head(prefix, blocks));
  }

  /** Some of others, from the {@code from}th on. */
  protected Lengths(Lengths whole, int from, long[] hashes) {
    this(hashes, whole.first + from, whole.head(from));
  }

  private Lengths(long[] hashes, int first, long head) {
    this.hashes = hashes;
    this.first = first;
    this.head = head;
  }

  /** Hash of the first length of the group in which the {@code i}th lies. */
  final long head(int i) {
    int group = ((first + i) & -Group.LENGTHS) - first;
    return group < 0 ? head : hashes[group];
  }
}
