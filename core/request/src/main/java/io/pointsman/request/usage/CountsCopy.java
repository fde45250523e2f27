package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.pointsman.engine.fleet.Usage;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The last object of counts, without its lists. */
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

  /** The counts of a complete object; null if it is incomplete, or there is none. */
  private @Nullable Usage complete;

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
    complete = null;
    nesting.begin();
  }

  /**
   * Reads an object that lies in {@code bytes} completely, without a copy, if it has neither lists
   * nor line feeds nor escapes.
   *
   * @param from index of its first byte
   * @return the index after its last byte; -1 if it must be copied
   */
  int whole(byte[] bytes, int from, int to) {
    if (length > 0 || ofMessage) {
      return -1;
    }
    int depth = 0;
    int at = from;
    int most = Math.min(to, from + MOST);
    while (at < most) {
      switch (bytes[at]) {
        case '{' -> depth++;
        case '}' -> {
          depth--;
          if (depth == 0) {
            complete = read(bytes, from, at + 1);
            return at + 1;
          }
        }
        case '"' -> {
          at = PlainText.end(bytes, at + 1, most);
          if (at == most || bytes[at] != '"') {
            return -1;
          }
        }
        case '[', '\n' -> {
          return -1;
        }
        default -> {}
      }
      at++;
    }
    return -1;
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
    if (ends) {
      complete = read(copy, 0, length);
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
    Usage last = complete;
    if (last == null) {
      last = length == 0 ? Usage.UNKNOWN : read(copy, 0, length);
    }
    return last.promptTokens() >= 0 || earlier.promptTokens() < 0
        ? last
        : new Usage(earlier.promptTokens(), earlier.cachedTokens(), last.completionTokens());
  }

  private Usage read(byte[] bytes, int from, int to) {
    return timed ? UsageCounts.timings(bytes, from, to) : UsageCounts.read(bytes, from, to);
  }
}
