package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;
import java.util.Arrays;

/**
 * Reader of the token counts in the last bytes of an answer. They are in an answer in one piece, or
 * in the last events of a stream. The answer is not parsed. In JSON a quotation mark inside a
 * string is escaped, so a search finds member names.
 *
 * <p>It reads chat and text completions, messages, responses, and SGLang's {@code meta_info}. The
 * counts are unknown if the usage is not within the last {@link #BYTES}, or if the transfer coding
 * splits it.
 */
public final class UsageTail {
  /** Number of bytes at the end of an answer that contain its usage. */
  public static final int BYTES = 1024;

  private static final int ASCII = 128;
  private static final Member USAGE = new Member("usage");

  /** The counts of SGLang's {@code /generate}, in place of a usage. */
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

  /** A member with an object of counts as its value. */
  private static final class Member {
    /** Name with its quotation marks. */
    private final byte[] name;

    /**
     * Distance to the next candidate before the current one, in bytes, by the ASCII character at
     * the current candidate.
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
     * Index after the last occurrence of this name with an object as its value; -1 if there is
     * none. Uses Horspool's search, backwards.
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
   * The counts in the last {@code usage}, or in the last {@code meta_info} if there is no usage.
   *
   * @param to index after the last byte
   * @return -1 for each count that is absent
   */
  public static Usage read(byte[] bytes, int from, int to) {
    int usage = USAGE.last(bytes, from, to);
    int counts = usage < 0 ? META.last(bytes, from, to) : usage;
    return counts < 0 ? Usage.UNKNOWN : counts(bytes, counts, to);
  }

  /**
   * Reads the counts of an object. The first occurrence of a count applies. {@code input_tokens} of
   * a message excludes the tokens that its prompt read from or wrote to the cache; they are added.
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

  /** Sum with a second count that may be absent (-1). */
  private static int sum(int count, int more) {
    return (int) Math.min(Integer.MAX_VALUE, (long) count + Math.max(0, more));
  }

  private static Usage usage(int prompt, int cached, int completion) {
    return prompt < 0 && cached < 0 && completion < 0
        ? Usage.UNKNOWN
        : new Usage(prompt, cached, completion);
  }

  /** The count of a name at {@code at}; -1 if another name is there. */
  private static int count(byte[] name, byte[] bytes, int at, int to) {
    return matches(name, bytes, at, to) ? number(bytes, at + name.length, to) : -1;
  }

  /** Compares the closing quotation mark first, because most other names differ there. */
  private static boolean matches(byte[] name, byte[] bytes, int at, int to) {
    return at + name.length <= to
        && bytes[at + name.length - 1] == '"'
        && Arrays.equals(name, 0, name.length, bytes, at, at + name.length);
  }

  /** True if a colon and an object follow. Streams send {@code null} before the last event. */
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

  /** The count after a colon; -1 if there is none, or if the bytes end before its end. */
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
