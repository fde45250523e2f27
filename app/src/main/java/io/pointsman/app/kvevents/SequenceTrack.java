package io.pointsman.app.kvevents;

import java.util.Arrays;

/**
 * Where one source's numbered batches stand. Numbers begin at 0 with the publisher and rise by one;
 * one that is not expected says what has happened. Used by one thread.
 *
 * <p>A batch that has been repeated over the replay endpoint may still come by the stream itself,
 * and one may overtake a few others; such a batch is known by its checksum, or by having been
 * repeated or skipped. Any other number of the past is that of a new publisher.
 */
final class SequenceTrack {
  /** What a number says. */
  enum Verdict {
    /** The batch follows the last one. */
    NEXT,
    /** It has been dealt with before. */
    REPEATED,
    /** Batches between the last one and it are missing. */
    GAP,
    /** The publisher counts from the beginning again. */
    RESTARTED
  }

  /** Batches whose checksums are kept; a power of two. */
  private static final int RECENT = 64;

  private static final long NEVER = -1;

  private final long[] checksums = new long[RECENT];
  private int recent;
  private long last = NEVER;
  private long heard = NEVER;
  private long replayedFrom;
  private long replayedTo = NEVER;
  private long skippedFrom;
  private long skippedTo = NEVER;

  /** The number of the last batch that counts; -1 if there is none. */
  long last() {
    return last;
  }

  /**
   * Looks at a batch.
   *
   * @param seq its number, not negative
   * @param live whether it comes by the stream rather than as a repetition
   */
  Verdict look(long seq, long checksum, boolean live) {
    Verdict verdict = verdict(seq, checksum);
    if (live && verdict != Verdict.RESTARTED) {
      heard = Math.max(heard, seq);
    }
    return verdict;
  }

  private Verdict verdict(long seq, long checksum) {
    if (seq > last) {
      return seq == last + 1 ? Verdict.NEXT : Verdict.GAP;
    }
    boolean replayed = seq > heard - RECENT && seq >= replayedFrom && seq <= replayedTo;
    boolean skipped = seq >= skippedFrom && seq <= skippedTo;
    boolean known = seq > last - recent && checksums[place(seq)] == checksum;
    return replayed || skipped || known ? Verdict.REPEATED : Verdict.RESTARTED;
  }

  /** The batch after the last one counts from here on. */
  void advance(long checksum, boolean live) {
    last++;
    checksums[place(last)] = checksum;
    recent = Math.min(recent + 1, RECENT);
    if (!live) {
      replayedFrom = replayedTo == last - 1 ? replayedFrom : last;
      replayedTo = last;
    }
  }

  /** Gives up what is missing before {@code seq}, which is expected next. */
  void skipTo(long seq) {
    if (last != NEVER) {
      skippedFrom = last + 1;
      skippedTo = seq - 1;
    }
    last = seq - 1;
    recent = 0;
  }

  /** The stream comes by a new connection: nothing of the old one is still under way. */
  void reconnected() {
    heard = last;
    replayedTo = NEVER;
    skippedTo = NEVER;
  }

  /** Knows nothing any more. */
  void forget() {
    last = NEVER;
    heard = NEVER;
    recent = 0;
    replayedTo = NEVER;
    skippedTo = NEVER;
    Arrays.fill(checksums, 0);
  }

  private static int place(long seq) {
    return (int) (seq & (RECENT - 1));
  }
}
