package io.pointsman.request.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Locale;
import java.util.Set;

/** Functions on the bytes of JSON texts. */
public final class JsonText {
  static final long SCALAR_SEED = 0x7363616C6172L;

  private static final Set<String> YES = Set.of("true", "t", "yes", "y", "on", "1");
  private static final int LONGEST_YES = 32;

  private JsonText() {}

  /** True if engines read the value as true. Pydantic also accepts 1 and some strings. */
  public static boolean isTrue(byte[] bytes, int from, int to) {
    return switch (bytes[from]) {
      case 't' -> true;
      case '1' -> is(bytes, from, to, "1") || is(bytes, from, to, "1.0");
      case '"' -> to - from <= LONGEST_YES && saysTrue(decode(bytes, from + 1, to - 1));
      default -> false;
    };
  }

  /** True if engines read the text as true, in a form or a JSON string. */
  public static boolean saysTrue(String text) {
    return YES.contains(text.toLowerCase(Locale.ROOT));
  }

  /** Hash of a key with this name, as {@link JsonCursor} computes it. */
  public static long hash(String name) {
    byte[] bytes = name.getBytes(UTF_8);
    return BlockHash.of(bytes, 0, bytes.length);
  }

  /**
   * Hash of a string value with this content, as {@link JsonCursor} computes it for a string
   * without escapes.
   */
  public static long stringHash(String content) {
    return valueHash(hash(content));
  }

  /** Hash of a number or literal, as {@link JsonCursor} computes it. Not for {@code null}. */
  public static long scalarHash(String literal) {
    return hash(literal) ^ SCALAR_SEED;
  }

  /** Separates the hash of the empty string from that of null. */
  static long valueHash(long contentHash) {
    return contentHash + 1;
  }

  /**
   * The content of a string, with its escapes resolved. An invalid escape remains unchanged.
   *
   * @param from index of the first byte after the opening quote
   * @param to index of the closing quote
   */
  public static String decode(byte[] bytes, int from, int to) {
    String raw = new String(bytes, from, to - from, UTF_8);
    int escape = raw.indexOf('\\');
    if (escape < 0) {
      return raw;
    }
    StringBuilder content = new StringBuilder(raw.length()).append(raw, 0, escape);
    for (int i = escape; i < raw.length(); i++) {
      char c = raw.charAt(i);
      int length = c == '\\' ? escapeLength(raw, i) : 0;
      if (length == 0) {
        content.append(c);
      } else {
        content.append(length == 2 ? simple(raw.charAt(i + 1)) : (char) hex(raw, i + 2));
        i += length - 1;
      }
    }
    return content.toString();
  }

  /** Short identifier of a long value: its length in bytes and its hash. */
  public static String fingerprint(byte[] bytes, int from, int to) {
    return (to - from) + ":" + Long.toHexString(BlockHash.of(bytes, from, to));
  }

  static byte[] unescape(byte[] bytes, int from, int to) {
    return decode(bytes, from, to).getBytes(UTF_8);
  }

  static boolean escaped(byte[] bytes, int from, int to) {
    for (int i = from; i < to; i++) {
      if (bytes[i] == '\\') {
        return true;
      }
    }
    return false;
  }

  static boolean startsWith(byte[] bytes, int from, int to, String ascii) {
    if (to - from < ascii.length()) {
      return false;
    }
    for (int i = 0; i < ascii.length(); i++) {
      if (bytes[from + i] != ascii.charAt(i)) {
        return false;
      }
    }
    return true;
  }

  /**
   * End of the number or literal at {@code from}: the index of the next byte that cannot belong to
   * it.
   */
  static int scalarEnd(byte[] bytes, int from, int limit) {
    int i = from;
    while (i < limit && !endsScalar(bytes[i])) {
      i++;
    }
    return i;
  }

  static boolean startsScalar(int c) {
    return switch (c) {
      case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n', 'N', 'I' -> true;
      default -> false;
    };
  }

  static boolean endsScalar(byte b) {
    return switch (b) {
      case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"' -> true;
      default -> false;
    };
  }

  /** True if the bytes are a literal or consist of characters of a number. */
  static boolean scalar(byte[] bytes, int from, int to) {
    if (from == to) {
      return false;
    }
    return switch (bytes[from]) {
      case 't' -> is(bytes, from, to, "true");
      case 'f' -> is(bytes, from, to, "false");
      case 'n' -> is(bytes, from, to, "null");
      case 'N' -> is(bytes, from, to, "NaN");
      case 'I' -> is(bytes, from, to, "Infinity");
      case '-' -> number(bytes, from + 1, to) || is(bytes, from, to, "-Infinity");
      default -> number(bytes, from, to);
    };
  }

  private static boolean is(byte[] bytes, int from, int to, String ascii) {
    return to - from == ascii.length() && startsWith(bytes, from, to, ascii);
  }

  private static boolean number(byte[] bytes, int from, int to) {
    if (from == to || bytes[from] < '0' || bytes[from] > '9') {
      return false;
    }
    for (int i = from; i < to; i++) {
      boolean fits =
          switch (bytes[i]) {
            case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '-', '.', 'e', 'E' -> true;
            default -> false;
          };
      if (!fits) {
        return false;
      }
    }
    return true;
  }

  /** Length of the escape at {@code at}: 2, or 6 with four hex digits; 0 if it is invalid. */
  private static int escapeLength(String raw, int at) {
    if (at + 1 >= raw.length()) {
      return 0;
    }
    if (raw.charAt(at + 1) == 'u') {
      return hex(raw, at + 2) >= 0 ? 6 : 0;
    }
    return simple(raw.charAt(at + 1)) == 0 ? 0 : 2;
  }

  private static char simple(char c) {
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      default -> 0;
    };
  }

  private static int hex(String raw, int at) {
    if (at + 4 > raw.length()) {
      return -1;
    }
    int value = 0;
    for (int i = at; i < at + 4; i++) {
      int digit = Character.digit(raw.charAt(i), 16);
      if (digit < 0 || raw.charAt(i) > 'f') {
        return -1;
      }
      value = value << 4 | digit;
    }
    return value;
  }
}
