package io.pointsman.tool.sim.text;

import java.util.Arrays;

/**
 * A fixed, reversible tokeniser. A token is up to four ASCII letters, digits or underscores with at
 * most one space before them. Any other single code point and each marker of the chat template is a
 * token too. The id of a token encodes its text with six bits per character, so no table is needed
 * and ids are unique.
 *
 * <p>English prose has about 3.5 characters per token.
 */
public final class Tokeniser {
  /** Ids from this value on are markers of the chat template. */
  static final int MARKERS = 1 << 27;

  private static final int CODE_POINT = 1 << 26;
  private static final int SPACE = 1 << 24;
  private static final int WORD = 1 << 25;
  private static final int LETTERS = 4;
  private static final String ALPHABET =
      "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  private static final byte[] CODE = codes();

  private Tokeniser() {}

  /** Returns the ids of a text; empty for the empty text. */
  public static int[] encode(CharSequence text) {
    TokenBuffer out = new TokenBuffer(text.length() / 3 + 8);
    encode(text, out);
    return out.toArray();
  }

  static void encode(CharSequence text, TokenBuffer out) {
    int at = 0;
    while (at < text.length()) {
      at = next(text, at, out);
    }
  }

  /** Returns the text of ids; an id without text becomes {@code <id>}. */
  public static String decode(int[] ids) {
    StringBuilder text = new StringBuilder(ids.length * 4);
    for (int id : ids) {
      append(id, text);
    }
    return text.toString();
  }

  /** Returns the text of one id. */
  public static String decode(int id) {
    return decode(new int[] {id});
  }

  private static int next(CharSequence text, int start, TokenBuffer out) {
    int at = start;
    int id = WORD;
    if (text.charAt(at) == ' ' && at + 1 < text.length() && code(text.charAt(at + 1)) != 0) {
      id |= SPACE;
      at++;
    }
    int letters = 0;
    int packed = 0;
    while (at < text.length() && letters < LETTERS && code(text.charAt(at)) != 0) {
      packed |= code(text.charAt(at++)) << (6 * letters++);
    }
    if (letters > 0) {
      out.add(id | packed);
      return at;
    }
    int codePoint = Character.codePointAt(text, start);
    out.add(CODE_POINT | codePoint);
    return start + Character.charCount(codePoint);
  }

  private static void append(int id, StringBuilder text) {
    if (id >= MARKERS) {
      text.append(ChatTemplate.markerText(id));
    } else if (id >= CODE_POINT && Character.isValidCodePoint(id - CODE_POINT)) {
      text.appendCodePoint(id - CODE_POINT);
    } else if (id >= WORD && id < CODE_POINT) {
      appendWord(id, text);
    } else {
      text.append('<').append(id).append('>');
    }
  }

  private static void appendWord(int id, StringBuilder text) {
    if ((id & SPACE) != 0) {
      text.append(' ');
    }
    for (int packed = id & (SPACE - 1); packed != 0; packed >>>= 6) {
      int code = packed & 63;
      if (code != 0) {
        text.append(ALPHABET.charAt(code - 1));
      }
    }
  }

  private static int code(char c) {
    return c < 128 ? CODE[c] : 0;
  }

  private static byte[] codes() {
    byte[] codes = new byte[128];
    Arrays.fill(codes, (byte) 0);
    for (int i = 0; i < ALPHABET.length(); i++) {
      codes[ALPHABET.charAt(i)] = (byte) (i + 1);
    }
    return codes;
  }
}
