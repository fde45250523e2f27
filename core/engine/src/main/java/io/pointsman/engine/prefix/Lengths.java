package io.pointsman.engine.prefix;

/**
 * Consecutive indexed lengths of a prompt, by their hashes. Subclasses add data, so one object
 * holds everything known of the lengths.
 */
public class Lengths {
  /** Chained hash of each length; not to be changed. */
  public final long[] hashes;

  /** Index of the first length among the prompt's indexed lengths. */
  protected int first;

  /** Hash of the first length of the group that contains that one. */
  private long head;

  /**
   * Creates one length for each hash; {@link #become} must define them.
   *
   * @param hashes kept, not copied
   */
  protected Lengths(long[] hashes) {
    this(hashes, 0, 0);
  }

  /** Creates a part of other lengths, from index {@code from} on. */
  protected Lengths(Lengths whole, int from, long[] hashes) {
    this(hashes, whole.first + from, whole.head(from));
  }

  private Lengths(long[] hashes, int first, long head) {
    this.hashes = hashes;
    this.first = first;
    this.head = head;
  }

  /**
   * Defines these as lengths of a prompt, after their hashes have been stored.
   *
   * @param prefix the prompt
   * @param blocks length of the first one in blocks
   */
  protected final void become(PrefixBlocks prefix, int blocks) {
    first = Group.ordinal(blocks);
    head = Group.head(prefix, blocks);
  }

  /** Hash of the first length of the group that contains length {@code i}. */
  final long head(int i) {
    int group = ((first + i) & -Group.LENGTHS) - first;
    return group < 0 ? head : hashes[group];
  }
}
