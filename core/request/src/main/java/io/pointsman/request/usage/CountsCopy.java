package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.pointsman.engine.fleet.Usage;
import java.util.Arrays;

/** Copy of the last object of counts, without its lists. */
final class CountsCopy {
  /** Maximum number of bytes of the copy. */
  private static final int MOST = 2048;

  private static final String PROMPT_TOKENS = "\"prompt_tokens\"";
  private static final byte[] NOTHING = {};

  private final Nesting nesting = new Nesting();
  private final boolean ofMessage;
  private byte[] copy = NOTHING;
  private int length;
  private boolean used;
  private boolean timed;

  /** Counts of the start of a message, which its end may leave out. */
  private Usage earlier = Usage.UNKNOWN;

  /**
   * @param ofMessage true if the start of a message may have counts too
   */
  CountsCopy(boolean ofMessage) {
    this.ofMessage = ofMessage;
  }

  void begin(AnswerMember member) {
    if (ofMessage) {
      earlier = usage();
    }
    used |= member == AnswerMember.USAGE;
    timed = member == AnswerMember.TIMINGS;
    length = 0;
    nesting.begin();
  }

  /** Adds a byte. Returns true if it ends the object. */
  boolean ends(byte b) {
    boolean ends = nesting.ends(b);
    if (!nesting.listed() && length < MOST) {
      if (length == copy.length) {
        copy = Arrays.copyOf(copy, Math.max(128, 2 * length));
      }
      copy[length++] = b;
    }
    return ends;
  }

  /** True if there are counts of a {@code usage}. */
  boolean used() {
    return used;
  }

  /** True if the counts have the names of a chat. */
  boolean ofChat() {
    return new String(copy, 0, length, ISO_8859_1).contains(PROMPT_TOKENS);
  }

  /** The counts. */
  Usage usage() {
    if (length == 0) {
      return Usage.UNKNOWN;
    }
    if (timed) {
      return UsageCounts.timings(copy, 0, length);
    }
    Usage last = UsageCounts.read(copy, 0, length);
    return last.promptTokens() >= 0 || earlier.promptTokens() < 0
        ? last
        : new Usage(earlier.promptTokens(), earlier.cachedTokens(), last.completionTokens());
  }
}
