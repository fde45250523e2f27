package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.pointsman.engine.fleet.Usage;
import java.util.Arrays;

/** Reader of the token counts in a {@code usage}, a {@code meta_info} or a {@code timings}. */
final class UsageCounts {
  private static final byte[] PROMPT = ascii("\"prompt_tokens\"");
  private static final byte[] INPUT = ascii("\"input_tokens\"");
  private static final byte[] COMPLETION = ascii("\"completion_tokens\"");
  private static final byte[] OUTPUT = ascii("\"output_tokens\"");
  private static final byte[] CACHED = ascii("\"cached_tokens\"");
  private static final byte[] CACHE_READ = ascii("\"cache_read_input_tokens\"");
  private static final byte[] CACHE_CREATION = ascii("\"cache_creation_input_tokens\"");

  private static final byte[] CACHE_N = ascii("\"cache_n\"");
  private static final byte[] PROMPT_N = ascii("\"prompt_n\"");
  private static final byte[] PREDICTED_N = ascii("\"predicted_n\"");

  private UsageCounts() {}

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }

  /**
   * Reads the counts of an object. The first occurrence of a count applies. {@code input_tokens} of
   * a message excludes the tokens that its prompt read from or wrote to the cache; they are added.
   *
   * @param to index after the last byte
   * @return -1 for each count that is absent
   */
  static Usage read(byte[] bytes, int from, int to) {
    int prompt = -1;
    int input = -1;
    int completion = -1;
    int output = -1;
    int cached = -1;
    int cacheRead = -1;
    int cacheCreation = -1;
    int at = from;
    while (at < to) {
      if (bytes[at] != '"') {
        at++;
        continue;
      }
      int end = stringEnd(bytes, at + 1, to);
      // The lengths of the names, with both quotation marks.
      switch (end - at) {
        case 14 -> input = first(input, INPUT, bytes, at, to);
        case 15 -> {
          prompt = first(prompt, PROMPT, bytes, at, to);
          output = first(output, OUTPUT, bytes, at, to);
          cached = first(cached, CACHED, bytes, at, to);
        }
        case 19 -> completion = first(completion, COMPLETION, bytes, at, to);
        case 25 -> cacheRead = first(cacheRead, CACHE_READ, bytes, at, to);
        case 29 -> cacheCreation = first(cacheCreation, CACHE_CREATION, bytes, at, to);
        default -> {}
      }
      at = end;
    }
    boolean apart = cached < 0 && input >= 0;
    int whole = apart ? sum(sum(input, cacheRead), cacheCreation) : input;
    return usage(
        prompt < 0 ? whole : prompt,
        cached < 0 ? cacheRead : cached,
        completion < 0 ? output : completion);
  }

  /**
   * Reads llama.cpp's {@code timings}. {@code prompt_n} excludes the tokens of the cache. Servers
   * that do not count those ({@code cache_n}) leave the length of the prompt unknown.
   *
   * @param to index after the last byte
   * @return -1 for each count that is absent
   */
  static Usage timings(byte[] bytes, int from, int to) {
    int cached = -1;
    int computed = -1;
    int completion = -1;
    for (int at = from; at + 1 < to; at++) {
      if (bytes[at] == '"') {
        cached = Math.max(cached, count(CACHE_N, bytes, at, to));
        computed = Math.max(computed, count(PROMPT_N, bytes, at, to));
        completion = Math.max(completion, count(PREDICTED_N, bytes, at, to));
      }
    }
    int prompt = cached < 0 || computed < 0 ? -1 : sum(computed, cached);
    return usage(prompt, cached, completion);
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

  /** The count that was found before, or else the one of a name at {@code at}. */
  private static int first(int before, byte[] name, byte[] bytes, int at, int to) {
    return before < 0 ? count(name, bytes, at, to) : before;
  }

  /** The index after the quotation mark that ends a string, or {@code to}. */
  private static int stringEnd(byte[] bytes, int from, int to) {
    int at = PlainText.end(bytes, from, to);
    while (at < to && bytes[at] != '"') {
      int next = bytes[at] == '\\' ? at + 2 : at + 1;
      at = next < to ? PlainText.end(bytes, next, to) : to;
    }
    return Math.min(at + 1, to);
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
