package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;

/**
 * Finds the token counts in the last bytes of an answer: of an answer in one piece, of the last
 * event of a stream that has them. The answer is not parsed. Within JSON a quotation mark inside a
 * string is escaped, so a name between plain ones is a name, wherever it is found.
 *
 * <p>Chat and text completions, messages and responses are understood. An answer whose usage is not
 * within its last {@link #BYTES}, or is torn apart by the transfer coding, tells nothing.
 */
public final class UsageTail {
  /** So many bytes at the end of an answer are enough. */
  public static final int BYTES = 1024;

  private static final byte[] USAGE = ascii("\"usage\"");
  private static final byte[][] PROMPT = {ascii("\"prompt_tokens\""), ascii("\"input_tokens\"")};
  private static final byte[][] COMPLETION = {
    ascii("\"completion_tokens\""), ascii("\"output_tokens\"")
  };
  private static final byte[][] CACHED = {
    ascii("\"cached_tokens\""), ascii("\"cache_read_input_tokens\"")
  };

  private UsageTail() {}

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  /**
   * The counts in the last {@code usage} of the bytes.
   *
   * @param to index behind the last byte
   * @return -1 for each count that is not there
   */
  public static Usage read(byte[] bytes, int from, int to) {
    int usage = last(USAGE, bytes, from, to);
    if (usage < 0) {
      return Usage.UNKNOWN;
    }
    int prompt = first(PROMPT, bytes, usage, to);
    int completion = first(COMPLETION, bytes, usage, to);
    int cached = first(CACHED, bytes, usage, to);
    return prompt < 0 && completion < 0 && cached < 0
        ? Usage.UNKNOWN
        : new Usage(prompt, cached, completion);
  }

  private static int first(byte[][] names, byte[] bytes, int from, int to) {
    for (byte[] name : names) {
      for (int at = from; at + name.length < to; at++) {
        if (matches(name, bytes, at)) {
          int value = number(bytes, at + name.length, to);
          if (value >= 0) {
            return value;
          }
        }
      }
    }
    return -1;
  }

  private static int last(byte[] name, byte[] bytes, int from, int to) {
    for (int at = to - name.length; at >= from; at--) {
      if (matches(name, bytes, at) && object(bytes, at + name.length, to)) {
        return at;
      }
    }
    return -1;
  }

  private static boolean matches(byte[] name, byte[] bytes, int at) {
    for (int i = 0; i < name.length; i++) {
      if (bytes[at + i] != name[i]) {
        return false;
      }
    }
    return true;
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
