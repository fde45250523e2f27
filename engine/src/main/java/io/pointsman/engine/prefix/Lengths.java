package io.pointsman.engine.prefix;

/**
 * Indexed lengths of a prompt that follow each other, by their hashes. Whoever keeps some extends
 * it, so that what is known of them lies in one object.
 */
public class Lengths {
  /** Chained hash of each length; not to be changed. */
  public final long[] hashes;

  /** Which of the prompt's indexed lengths the first one is. */
  protected int first;

  /** Hash of the first length of the group in which that one lies. */
  private long head;

  /**
   * So many lengths as there are hashes; which ones, {@link #become} is to say.
   *
   * @param hashes kept, not copied
   */
  protected Lengths(long[] hashes) {
    this(hashes, 0, 0);
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

  /**
   * Becomes lengths of a prompt whose hashes have been entered.
   *
   * @param prefix the prompt
   * @param blocks length of the first of them
   */
  protected final void become(PrefixBlocks prefix, int blocks) {
    first = Group.ordinal(blocks);
    head = Group.head(prefix, blocks);
  }

  /** Hash of the first length of the group in which the {@code i}th lies. */
  final long head(int i) {
    int group = ((first + i) & -Group.LENGTHS) - first;
    return group < 0 ? head : hashes[group];
  }
}
