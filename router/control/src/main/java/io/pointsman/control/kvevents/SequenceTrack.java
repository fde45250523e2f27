package io.pointsman.control.kvevents;

import java.util.Arrays;

/**
 * Position in the numbered batches of one source. Numbers start at 0 with the publisher and
 * increase by one. Confined to one thread.
 *
 * <p>A replayed batch can arrive again from the stream, and a few batches can arrive late. Such a
 * batch is recognised by its checksum, or because its number was replayed or skipped. Any other
 * past number means that the publisher has restarted.
 */
final class SequenceTrack {
  /** Meaning of a number. */
  enum Verdict {
    /** The next batch. */
    NEXT,
    /** A batch that was already processed. */
    REPEATED,
    /** Batches before this one are missing. */
    GAP,
    /** The publisher has restarted its numbers. */
    RESTARTED
  }

  /** Number of checksums kept; a power of two. */
  private static final int RECENT = 64;

  private static final long NEVER = -1;

  private final long[] checksums = new long[RECENT];
  private int recent;
  private long last = NEVER;
  private long newest = NEVER;
  private long replayedFrom;
  private long replayedTo = NEVER;
  private long skippedFrom;
  private long skippedTo = NEVER;

  /** The number of the last processed batch; -1 if there is none. */
  long last() {
    return last;
  }

  /**
   * Classifies a batch.
   *
   * @param seq number of the batch, not negative
   * @param live true: from the stream; false: from a replay
   */
  Verdict look(long seq, long checksum, boolean live) {
    Verdict verdict = verdict(seq, checksum);
    if (live && verdict != Verdict.RESTARTED) {
      newest = Math.max(newest, seq);
    }
    return verdict;
  }

  private Verdict verdict(long seq, long checksum) {
    if (seq > last) {
      return seq == last + 1 ? Verdict.NEXT : Verdict.GAP;
    }
    boolean replayed = seq > newest - RECENT && seq >= replayedFrom && seq <= replayedTo;
    boolean skipped = seq >= skippedFrom && seq <= skippedTo;
    boolean known = seq > last - recent && checksums[place(seq)] == checksum;
    return replayed || skipped || known ? Verdict.REPEATED : Verdict.RESTARTED;
  }

  /** Records the next batch as processed. */
  void advance(long checksum, boolean live) {
    last++;
    checksums[place(last)] = checksum;
    recent = Math.min(recent + 1, RECENT);
    if (!live) {
      replayedFrom = replayedTo == last - 1 ? replayedFrom : last;
      replayedTo = last;
    }
  }

  /** Gives up all batches before {@code seq}, which becomes the next expected one. */
  void skipTo(long seq) {
    if (last != NEVER) {
      skippedFrom = last + 1;
      skippedTo = seq - 1;
    }
    last = seq - 1;
    recent = 0;
  }

  /** Records a new connection: no batch of the old one can arrive. */
  void reconnected() {
    newest = last;
    replayedTo = NEVER;
    skippedTo = NEVER;
  }

  /** Discards all state. */
  void forget() {
    last = NEVER;
    newest = NEVER;
    recent = 0;
    replayedTo = NEVER;
    skippedTo = NEVER;
    Arrays.fill(checksums, 0);
  }

  private static int place(long seq) {
    return (int) (seq & (RECENT - 1));
  }
}
