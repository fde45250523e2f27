package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;
import java.util.Arrays;

/**
 * Finds the token counts in the last bytes of an answer: of an answer in one piece, of the last
 * event of a stream that has them. The answer is not parsed. Within JSON a quotation mark inside a
 * string is escaped, so a name between plain ones is a name, wherever it is found.
 *
 * <p>Chat and text completions, messages, responses and SGLang's {@code meta_info} are understood.
 * An answer whose usage is not within its last {@link #BYTES}, or is torn apart by the transfer
 * coding, tells nothing.
 */
public final class UsageTail {
  /** So many bytes at the end of an answer are enough. */
  public static final int BYTES = 1024;

  private static final int ASCII = 128;
  private static final Member USAGE = new Member("usage");

  /** What SGLang's {@code /generate} tells of an answer; there is no usage then. */
  private static final Member META = new Member("meta_info");

  private static final byte[] PROMPT = ascii("\"prompt_tokens\"");
  private static final byte[] INPUT = ascii("\"input_tokens\"");
  private static final byte[] COMPLETION = ascii("\"completion_tokens\"");
  private static final byte[] OUTPUT = ascii("\"output_tokens\"");
  private static final byte[] CACHED = ascii("\"cached_tokens\"");
  private static final byte[] CACHE_READ = ascii("\"cache_read_input_tokens\"");
  private static final byte[] CACHE_CREATION = ascii("\"cache_creation_input_tokens\"");

  private UsageTail() {}

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  /** A member that holds counts. */
  private static final class Member {
    /** With its quotation marks. */
    private final byte[] name;

    /**
     * How far to go back, for each ASCII character that is found where the name would begin, before
     * it can begin.
     */
    private final byte[] steps = new byte[ASCII];

    Member(String name) {
      this.name = ascii("\"" + name + "\"");
      Arrays.fill(steps, (byte) this.name.length);
      for (int i = this.name.length - 1; i > 0; i--) {
        steps[this.name[i]] = (byte) i;
      }
    }

    /**
     * Where the last object of this name begins, behind the name; -1 if there is none. Horspool's
     * search, from the end.
     */
    int last(byte[] bytes, int from, int to) {
      int at = to - name.length;
      while (at >= from) {
        byte first = bytes[at];
        if (first == '"' && matches(name, bytes, at, to) && object(bytes, at + name.length, to)) {
          return at + name.length;
        }
        at -= first < 0 ? name.length : steps[first];
      }
      return -1;
    }
  }

  /**
   * The counts in the last {@code usage} of the bytes, or in the last {@code meta_info}.
   *
   * @param to index behind the last byte
   * @return -1 for each count that is not there
   */
  public static Usage read(byte[] bytes, int from, int to) {
    int usage = USAGE.last(bytes, from, to);
    int counts = usage < 0 ? META.last(bytes, from, to) : usage;
    return counts < 0 ? Usage.UNKNOWN : counts(bytes, counts, to);
  }

  /**
   * Of a count that comes more than once, the first one; of two names, the first one. What a
   * message's prompt found in the cache, or brought there, is no part of its {@code input_tokens}.
   */
  private static Usage counts(byte[] bytes, int from, int to) {
    int prompt = -1;
    int input = -1;
    int completion = -1;
    int output = -1;
    int cached = -1;
    int cacheRead = -1;
    int cacheCreation = -1;
    for (int at = from; at + 1 < to; at++) {
      if (bytes[at] == '"') {
        switch (bytes[at + 1]) {
          case 'p' -> prompt = prompt < 0 ? count(PROMPT, bytes, at, to) : prompt;
          case 'i' -> input = input < 0 ? count(INPUT, bytes, at, to) : input;
          case 'o' -> output = output < 0 ? count(OUTPUT, bytes, at, to) : output;
          case 'c' -> {
            completion = completion < 0 ? count(COMPLETION, bytes, at, to) : completion;
            cached = cached < 0 ? count(CACHED, bytes, at, to) : cached;
            cacheRead = cacheRead < 0 ? count(CACHE_READ, bytes, at, to) : cacheRead;
            cacheCreation =
                cacheCreation < 0 ? count(CACHE_CREATION, bytes, at, to) : cacheCreation;
          }
          default -> {}
        }
      }
    }
    boolean apart = cached < 0 && input >= 0;
    int whole = apart ? sum(sum(input, cacheRead), cacheCreation) : input;
    return usage(
        prompt < 0 ? whole : prompt,
        cached < 0 ? cacheRead : cached,
        completion < 0 ? output : completion);
  }

  /** With a second count that may not be there. */
  private static int sum(int count, int more) {
    return (int) Math.min(Integer.MAX_VALUE, (long) count + Math.max(0, more));
  }

  private static Usage usage(int prompt, int cached, int completion) {
    return prompt < 0 && cached < 0 && completion < 0
        ? Usage.UNKNOWN
        : new Usage(prompt, cached, completion);
  }

  /** The count of a name, if the name begins at {@code at}; else -1. */
  private static int count(byte[] name, byte[] bytes, int at, int to) {
    return matches(name, bytes, at, to) ? number(bytes, at + name.length, to) : -1;
  }

  /** Its closing quotation mark first, which most other names do not have there. */
  private static boolean matches(byte[] name, byte[] bytes, int at, int to) {
    return at + name.length <= to
        && bytes[at + name.length - 1] == '"'
        && Arrays.equals(name, 0, name.length, bytes, at, at + name.length);
  }

  /** Whether an object follows, behind a colon: streams send {@code null} until the end. */
  private static boolean object(byte[] bytes, int from, int to) {
    int at = afterColon(bytes, from, to);
    return at < to && bytes[at] == '{';
  }

  private static int afterColon(byte[] bytes, int from, int to) {
    int at = blank(bytes, from, to);
    return at < to && bytes[at] == ':' ? blank(bytes, at + 1, to) : to;
  }

  private static int blank(byte[] bytes, int from, int to) {
    int at = from;
    while (at < to && (bytes[at] == ' ' || bytes[at] == '\n' || bytes[at] == '\r')) {
      at++;
    }
    return at;
  }

  /** A count behind a colon; -1 if there is none, or if its end is not there. */
  private static int number(byte[] bytes, int from, int to) {
    int at = afterColon(bytes, from, to);
    long value = 0;
    int digits = 0;
    while (at < to && bytes[at] >= '0' && bytes[at] <= '9' && digits < 10) {
      value = value * 10 + bytes[at++] - '0';
      digits++;
    }
    return digits == 0 || at == to || value > Integer.MAX_VALUE ? -1 : (int) value;
  }
}
